import { asUuid } from '../../contract/identity/keys.ts'
import { keepsSnapshots } from '../../queue/redis/redis-condition.ts'
import { serversOf } from '../../queue/redis/redis-servers.ts'
import { type CommandContext, CommandError, print, runCommand } from '../run-command.ts'
import { residueInPostgres } from './residue-in-postgres.ts'
import { residueInRedis } from './residue-in-redis.ts'
import { residueInSearch } from './residue-in-search.ts'
import { residueOfWorkspace } from './residue-of-workspace.ts'
import { soughtOf } from './text-search.ts'

const USAGE = `usage: npm run purge:verify -- [--id TEXT]… [--email TEXT]… [--text TEXT]…
       npm run purge:verify -- --workspace ID

Searches Postgres and Redis for these strings, in upper or lower case and in the form of JSON: every column of every table,
planner statistics and statements; names and values of every key, and the slow log; and their words in the search index.
Prints the places of each string and the number of rows or keys that contain it, never the content.
With --workspace, the command counts the rows and keys of a deleted workspace.
Exit code 0: the search has found nothing. 1: it has found something, or the command failed.`

const OPTIONS = ['id', 'email', 'text'] as const

/** No command of Redis can read the files of its snapshots. */
const SNAPSHOTS = 'not searched: snapshots of Redis (docs/operate/servers.md, "Redis")'

const NO_TABLES = 'The database has no tables in this schema. Check DATABASE_URL and DATABASE_SCHEMA.'

const rows = (count: number): string => (count === 1 ? '1 row' : `${count} rows`)

const verifyWorkspace = async ({ sql, openRedis }: CommandContext, id: string) => {
  const workspaceId = asUuid(id)
  if (workspaceId === undefined)
    throw new CommandError('The id of a workspace must be a UUID, as npm run workspace -- list and -- delete print it.')
  const { rows: found, tables, keys } = await residueOfWorkspace({ sql, ...(await openRedis()) }, workspaceId)
  if (tables === 0) throw new CommandError(NO_TABLES)
  const lines = found.map(({ table, count }) => `  ${table}: ${rows(count)}`)
  if (keys > 0) lines.push(`  Redis: ${keys}`)
  print(lines.length === 0 ? 'workspace: found nowhere' : 'workspace:')
  for (const line of lines) print(line)
  if (lines.length > 0) throw new CommandError('Data of the workspace was found, in the places above.')
}

await runCommand({
  usage: USAGE,
  options: ['workspace'],
  lists: OPTIONS,
  run: async (context) => {
    const { sql, values, valuesOf, openRedis, readHashKey } = context
    const given = OPTIONS.flatMap((option) =>
      valuesOf(option).map((text, index) => ({ label: `${option} ${index + 1}`, text: text.trim() })),
    )
    const workspace = values['workspace']
    if (workspace !== undefined) {
      if (given.length > 0) throw new CommandError(USAGE)
      return verifyWorkspace(context, workspace)
    }
    if (given.length === 0) throw new CommandError(USAGE)
    const sought = soughtOf(given.map(({ text }) => text))
    if (given.some(({ text }) => !sought.some((string) => string.text === text))) {
      throw new CommandError('A string to search for needs a character other than spaces and backslashes.')
    }
    const { redis, prefix } = await openRedis()
    // Redis is searched first, since submissions move from there to Postgres.
    const inRedis = await residueInRedis(redis, prefix, sought)
    const inPostgres = await residueInPostgres(sql, sought)
    if (inPostgres.tables === 0) throw new CommandError(NO_TABLES)
    const inIndex = await residueInSearch(sql, readHashKey, sought)
    const found = [
      ...[...inPostgres.residue, ...inIndex].map(({ text, place, count }) => ({
        text,
        line: `  ${place}: ${rows(count)}`,
      })),
      ...inRedis.residue.map(({ text, place, count }) => ({ text, line: `  Redis ${place}: ${count}` })),
    ]
    for (const { label, text } of given) {
      const lines = found.flatMap((residue) => (residue.text === text ? residue.line : []))
      print(lines.length === 0 ? `${label}: found nowhere` : `${label}:`)
      for (const line of lines) print(line)
    }
    const areKept = await Promise.all((await serversOf(redis)).map(keepsSnapshots))
    print(`searched: ${inPostgres.tables} tables, and ${inRedis.keys} keys under ${prefix}`)
    if (areKept.some((kept) => kept !== false)) print(SNAPSHOTS)
    if (found.length > 0) throw new CommandError('At least one string was found, in the places above.')
  },
})
