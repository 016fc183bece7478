import process from 'node:process'
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { BadSettings, readSettings, type SettingName, type Settings, withSecretFiles } from '../process/settings.ts'
import { describeFault, isUnavailable } from '../process/fault.ts'
import { MigrationRefused } from '../db/migrate.ts'
import { connectPostgres, type Sql } from '../db/postgres.ts'
import { connectForCommand, isRefusedByRedis, type RedisClient } from '../queue/connect-redis.ts'
import { serviceEnvironment } from '../process/service-file.ts'

type Options = NonNullable<ParseArgsConfig['options']>
type Arguments = {
  sql: Sql
  words: string[]
  values: Readonly<Record<string, string | undefined>>
  /** Every value of an option that may be repeated. */
  valuesOf: (option: string) => readonly string[]
  /** Settings of the service, from the environment or those of a running `npm start`. */
  read: <const Names extends readonly SettingName[]>(names: Names) => Settings<Names[number]>
  openRedis: () => Promise<{ redis: RedisClient; prefix: string }>
}

/** Something that is wrong with how a command was called or with what it was asked for; the message says what to do. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

const STATEMENT_TIMEOUT_MS = 60 * 60 * 1_000

/**
 * Runs a command of an operator: parses its words, connects to Postgres at DATABASE_URL (or that of a running `npm start`),
 * to Redis if asked, and exits with 0, or with 1 and one line on what went wrong. `--help` prints the usage.
 */
export const runCommand = async ({
  usage,
  options,
  run,
}: {
  usage: string
  options: Options
  run: (parsed: Arguments) => Promise<void>
}): Promise<never> => {
  const say = (message: string): void => void process.stderr.write(`${message}\n`)
  const unwritten = (error: unknown): never => {
    say(`What this prints cannot be written (${describeFault(error)}).`)
    return process.exit(1)
  }
  process.stdout.on('error', unwritten)
  try {
    const { values, positionals } = parseArgs({
      options: { ...options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    })
    if (values['help'] === true) {
      process.stdout.write(`${usage}\n`)
      return process.exit(0)
    }
    const environment = await serviceEnvironment(withSecretFiles(process.env))
    if (!environment['DATABASE_URL']) {
      throw new CommandError('No service runs here: start it with `npm start`, or set DATABASE_URL to its database.')
    }
    const settings = readSettings(['DATABASE_URL', 'DATABASE_SCHEMA', 'DATABASE_POOLER'], environment)
    const sql = connectPostgres(settings.DATABASE_URL, {
      connections: 1,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      applicationName: 'feedback-insights-command',
      pooler: settings.DATABASE_POOLER,
      ...(settings.DATABASE_SCHEMA !== undefined && { schema: settings.DATABASE_SCHEMA }),
    })
    await run({
      sql,
      words: positionals,
      values: values as Record<string, string | undefined>,
      valuesOf: (option) => [(values as Record<string, string | string[] | undefined>)[option] ?? []].flat(),
      read: (names) => readSettings(names, environment),
      openRedis: () => openRedis(readSettings(['REDIS_URL', 'REDIS_PREFIX'], environment)),
    })
    await sql.end({ timeout: 5 })
    await written()
    return process.exit(0)
  } catch (error) {
    if (isFull(error)) unwritten(error)
    if (error instanceof CommandError) say(error.message)
    else if (error instanceof BadSettings) say(error.message)
    else if (error instanceof TypeError && 'code' in error) say(`${error.message}\n\n${usage}`)
    else if (error instanceof MigrationRefused) say(error.message)
    else if (isRefusedByRedis(error)) say(`Redis refused with ${describeFault(error)}.`)
    else if (isUnavailable(error)) {
      say(`Postgres cannot be reached (${describeFault(error)}). Is DATABASE_URL right, and does it run?`)
    } else say(`Postgres refused with ${describeFault(error)}. Has \`npm run migrate\` been run?`)
    return process.exit(1)
  }
}

/** On Deno a full disk is thrown where something is printed, on Bun it is an event. */
const isFull = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOSPC'

/** Whoever redirects the output has all of it once this command ends well. On a fault it does not come back. */
const written = (): Promise<void> => new Promise((resolve) => process.stdout.write('', (error) => error || resolve()))

const openRedis = async ({
  REDIS_URL,
  REDIS_PREFIX,
}: Settings<'REDIS_URL' | 'REDIS_PREFIX'>): Promise<{ redis: RedisClient; prefix: string }> => {
  try {
    return { redis: await connectForCommand(REDIS_URL), prefix: REDIS_PREFIX }
  } catch {
    throw new CommandError('Redis cannot be reached. Is REDIS_URL right, and does it run?')
  }
}
