import process from 'node:process'
import type { Sql } from '../db/connection/postgres.ts'
import { createWorkspace, listWorkspaces, type Workspace } from '../db/workspaces/workspaces.ts'
import { deleteWorkspace } from './delete-workspace.ts'
import { findWorkspace } from './option-values.ts'
import { type ProgressBar, startProgressBar } from './progress-bar.ts'
import { type CommandContext, CommandError, print, runCommand } from './run-command.ts'

const USAGE = `usage: npm run workspace -- create NAME
       npm run workspace -- list
       npm run workspace -- delete NAME --yes

A workspace is one tenant of the installation. All data belongs to exactly one workspace.
delete revokes its tokens and removes all its data: records, queued and dead submissions, receipts. --yes confirms that.
You can stop delete and run it again. list shows which workspaces are being deleted.`

const NAME = /^\w[\w .-]{0,99}$/

const lineOf = ({ id, createdAt, name, isBeingDeleted }: Workspace): string =>
  `${id}  ${createdAt.toISOString()}  ${name}${isBeingDeleted ? '  (being deleted: run delete again)' : ''}`

const whyTaken = async (sql: Sql, name: string): Promise<string> => {
  const taken = (await listWorkspaces(sql)).find((workspace) => workspace.name === name)
  return taken?.isBeingDeleted
    ? 'A workspace with this name is being deleted. Run delete again to finish.'
    : 'A workspace with this name exists already. See: npm run workspace -- list'
}

const remove = async ({ sql, openRedis }: CommandContext, { id, name }: Pick<Workspace, 'id' | 'name'>) => {
  const stores = { sql, ...(await openRedis()) }
  let bar: ProgressBar | undefined
  const { rows, keys } = await deleteWorkspace(stores, id, (total) => {
    bar = startProgressBar({ label: 'Deleting', total, output: process.stdout })
    return bar
  })
  bar?.end()
  print(`deleted ${name}, with ${rows} rows and ${keys} keys in Redis`)
  print(`To check that no data is left: npm run purge:verify -- --workspace ${id}`)
}

const nameOf = (word: string | undefined): string => {
  if (word === undefined) throw new CommandError(USAGE)
  if (!NAME.test(word))
    throw new CommandError(
      'NAME must have 1 to 100 unaccented letters, digits, underscores, spaces, dots and hyphens. It must begin with a letter, a digit or an underscore.',
    )
  return word
}

await runCommand({
  usage: USAGE,
  flags: ['yes'],
  run: {
    create: async ({ sql }, word) => {
      const name = nameOf(word)
      const workspace = await createWorkspace(sql, name)
      if (!workspace) throw new CommandError(await whyTaken(sql, name))
      print(`${workspace.id}  ${workspace.name}`)
    },
    list: async ({ sql }) => {
      for (const workspace of await listWorkspaces(sql)) print(lineOf(workspace))
    },
    delete: async (context, name) => {
      if (!context.hasFlag('yes'))
        throw new CommandError('This removes the workspace with all its data. Add --yes to confirm.')
      await remove(context, await findWorkspace(context.sql, nameOf(name)))
    },
  },
})
