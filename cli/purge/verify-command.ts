import { CommandError, print, runCommand } from '../run-command.ts'
import { residueInPostgres } from './residue-in-postgres.ts'
import { residueInRedis } from './residue-in-redis.ts'
import { soughtOf } from './text-search.ts'

const USAGE = `usage: npm run purge:verify -- [--id TEXT]… [--email TEXT]… [--text TEXT]…

Searches all that Postgres and Redis hold for these strings, as they are, in whatever case, and as JSON writes them: every
column of every table, planner statistics and statements; names and values of every key, and the slow log.
Prints in how many rows or keys of which place each is found, never what stands there.
Ends with 0 when nothing is found anywhere, else with 1.`

const OPTIONS = ['id', 'email', 'text'] as const

const rows = (count: number): string => (count === 1 ? '1 row' : `${count} rows`)

await runCommand({
  usage: USAGE,
  options: Object.fromEntries(OPTIONS.map((option) => [option, { type: 'string', multiple: true }])),
  run: async ({ sql, words, valuesOf, openRedis }) => {
    const given = OPTIONS.flatMap((option) =>
      valuesOf(option).map((text, index) => ({ label: `${option} ${index + 1}`, text: text.trim() })),
    )
    const sought = soughtOf(given.map(({ text }) => text))
    if (words.length > 0 || given.length === 0) throw new CommandError(USAGE)
    if (given.some(({ text }) => !sought.some((one) => one.text === text))) {
      throw new CommandError('A string to search for must not be blank.')
    }
    const { redis, prefix } = await openRedis()
    // Redis is searched first: submissions move from Redis to Postgres, and not back.
    const inRedis = await residueInRedis(redis, prefix, sought)
    const inPostgres = await residueInPostgres(sql, sought)
    if (inPostgres.tables === 0) throw new CommandError('The database has no tables. Is DATABASE_SCHEMA right?')
    const found = [
      ...inPostgres.residue.map(({ text, place, count }) => ({ text, line: `  ${place}: ${rows(count)}` })),
      ...inRedis.residue.map(({ text, place, count }) => ({ text, line: `  Redis ${place}: ${count}` })),
    ]
    for (const { label, text } of given) {
      const lines = found.flatMap((residue) => (residue.text === text ? residue.line : []))
      print(lines.length === 0 ? `${label}: found nowhere` : `${label}:`)
      for (const line of lines) print(line)
    }
    print(`searched: ${inPostgres.tables} tables, and ${inRedis.keys} keys under ${prefix}`)
    if (found.length > 0) throw new CommandError('Something was found.')
  },
})
