import process from 'node:process'
import { tracesInPostgres } from './search-postgres.ts'
import { tracesInRedis } from './search-redis.ts'
import { CommandError, runCommand } from '../run-command.ts'
import { soughtOf } from './text-search.ts'

const USAGE = `usage: npm run purge:verify -- [--id TEXT]… [--email TEXT]… [--text TEXT]…

Searches all that Postgres and Redis hold for these strings, as they are, in whatever case, and as JSON writes them: every
column of every table, planner statistics and statements; names and values of every key, and the slow log.
Prints in how many rows or keys of which place each is found, never what stands there.
Ends with 0 when nothing is found anywhere, else with 1.`

const OPTIONS = ['id', 'email', 'text'] as const

const rows = (count: number): string => {
  return count === 1 ? '1 row' : `${count} rows`
}

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
    // Redis first: from there things move to Postgres, and not back.
    const inRedis = await tracesInRedis(redis, prefix, sought)
    redis.disconnect()
    const inPostgres = await tracesInPostgres(sql, sought)
    if (inPostgres.tables === 0) throw new CommandError('The database has no tables. Is DATABASE_SCHEMA right?')
    const print = (line: string): void => void process.stdout.write(`${line}\n`)
    for (const { label, text } of given) {
      const found = [
        ...inPostgres.traces
          .filter((trace) => trace.text === text)
          .map(({ place, count }) => `${place}: ${rows(count)}`),
        ...inRedis.traces.filter((trace) => trace.text === text).map(({ place, count }) => `Redis ${place}: ${count}`),
      ]
      print(found.length === 0 ? `${label}: found nowhere` : `${label}:`)
      for (const line of found) print(`  ${line}`)
    }
    print(`searched: ${inPostgres.tables} tables, and ${inRedis.keys} keys under ${prefix}`)
    if (inPostgres.traces.length + inRedis.traces.length > 0) throw new CommandError('Something was found.')
  },
})
