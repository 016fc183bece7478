import process from 'node:process'
import { TOKEN_REMEMBERED_MS } from '../contract/limits.ts'
import { makeToken } from '../contract/token-format.ts'
import { addToken, listTokens, revokeToken, type Scope } from '../db/tokens.ts'
import { NO_SUCH_WORKSPACE } from './option-values.ts'
import { CommandError, print, runCommand } from './run-command.ts'

const USAGE = `usage: npm run token -- create --workspace NAME --scope submit|read|read:personal|edit|admin [--days N] [--note TEXT]
       npm run token -- create --scope operator [--days N] [--note TEXT]
       npm run token -- list
       npm run token -- revoke ID

submit         submit to the workspace
read           read the workspace; agents (/mcp) see no names, emails and properties of customers
read:personal  read the workspace; agents see personal data as well
edit           read the workspace, and correct its feedback
admin          submit to the workspace, read it, correct its feedback and purge in it
operator       see the dashboard, metrics and /admin of the whole installation
create prints the token once, and the service keeps only its hash. With --days the token expires after N days.
--note says for whom or for which program the token is. list shows it, and the last day on which the token was used.`

/** For each value of --scope, the scopes of the token. */
const SCOPES = {
  submit: ['submit'],
  read: ['read'],
  'read:personal': ['read', 'read:personal'],
  edit: ['read', 'edit'],
  admin: ['admin'],
  operator: ['operator'],
} as const satisfies Record<Scope, readonly Scope[]>
const NAMES = Object.keys(SCOPES) as (keyof typeof SCOPES)[]

const DAY_MS = 24 * 60 * 60 * 1_000

const workspaceFor = (scope: Scope, workspace: string | undefined): string | null => {
  if (scope === 'operator') {
    if (workspace !== undefined)
      throw new CommandError('An operator token is for the whole installation: leave --workspace out.')
    return null
  }
  if (workspace === undefined) throw new CommandError('--workspace NAME is required for this scope.')
  return workspace
}

const expiry = (days: string | undefined): Date | null => {
  if (days === undefined) return null
  if (!/^[1-9]\d{0,4}$/.test(days)) throw new CommandError('--days must be a whole number from 1 to 99999.')
  return new Date(Date.now() + Number(days) * DAY_MS)
}

const MOST_NOTE_CHARACTERS = 200

const noteOf = (note: string | undefined): { note?: string } => {
  if (note === undefined) return {}
  if (note.trim() === '' || note.length > MOST_NOTE_CHARACTERS)
    throw new CommandError(`--note must be a text of at most ${MOST_NOTE_CHARACTERS} characters.`)
  return { note: note.trim() }
}

const expiryText = (expiresAt: Date | null): string =>
  expiresAt === null ? 'no expiry' : `expires ${expiresAt.toISOString()}`

await runCommand({
  usage: USAGE,
  options: ['workspace', 'scope', 'days', 'note'],
  run: {
    create: async ({ sql, values }) => {
      const scope = NAMES.find((known) => known === values['scope'])
      if (!scope) throw new CommandError(`--scope must be one of ${NAMES.join(', ')}.`)
      const token = makeToken()
      const id = await addToken(sql, {
        token,
        workspace: workspaceFor(scope, values['workspace']),
        scopes: SCOPES[scope],
        expiresAt: expiry(values['days']),
        ...noteOf(values['note']),
      })
      if (id === undefined) throw new CommandError(NO_SUCH_WORKSPACE)
      process.stderr.write(`token ${id}, shown this once:\n`)
      print(token)
    },
    list: async ({ sql }) => {
      for (const token of await listTokens(sql)) {
        const end = token.revokedAt ? `revoked ${token.revokedAt.toISOString()}` : expiryText(token.expiresAt)
        const use = token.lastUsedOn === null ? 'not used yet' : `used ${token.lastUsedOn}`
        const note = token.note === null ? '' : `  ${token.note}`
        print(`${token.id}  ${token.workspace ?? '(installation)'}  ${token.scopes.join('+')}  ${end}  ${use}${note}`)
      }
    },
    revoke: async ({ sql }, id) => {
      if (id === undefined) throw new CommandError(USAGE)
      if (!(await revokeToken(sql, id)))
        throw new CommandError('There is no live token with this id. See: npm run token -- list')
      print(`revoked; every API process refuses it within ${TOKEN_REMEMBERED_MS / 1_000} seconds`)
    },
  },
})
