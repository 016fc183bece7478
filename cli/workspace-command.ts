import { createWorkspace, deleteWorkspace, listWorkspaces } from '../db/workspaces.ts'
import { CommandError, print, runCommand } from './run-command.ts'

const USAGE = `usage: npm run workspace -- create NAME
       npm run workspace -- list
       npm run workspace -- delete NAME --yes

A workspace is one customer of the service; all data belongs to exactly one.
delete ends its tokens and removes everything in it; --yes confirms that.`

const NAME = /^[\w][\w .-]{0,99}$/

await runCommand({
  usage: USAGE,
  options: { yes: { type: 'boolean' } },
  run: async ({ sql, words: [action, name, ...rest], values }) => {
    const named = (): string => {
      if (name === undefined || rest.length > 0) throw new CommandError(USAGE)
      if (!NAME.test(name))
        throw new CommandError('A name has 1 to 100 letters, digits, spaces, dots, hyphens and underscores.')
      return name
    }
    switch (action) {
      case 'create': {
        const workspace = await createWorkspace(sql, named())
        if (!workspace) throw new CommandError('There is a workspace of this name already.')
        return print(`${workspace.id}  ${workspace.name}`)
      }
      case 'list': {
        for (const one of await listWorkspaces(sql)) print(`${one.id}  ${one.createdAt.toISOString()}  ${one.name}`)
        return
      }
      case 'delete': {
        if (!values['yes'])
          throw new CommandError('This removes the workspace with everything in it. Add --yes to confirm.')
        const deleted = await deleteWorkspace(sql, named())
        if (deleted === undefined) throw new CommandError('There is no workspace of this name.')
        return print(`deleted, with ${deleted} rows`)
      }
      case undefined:
      default:
        throw new CommandError(USAGE)
    }
  },
})
