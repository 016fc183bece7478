import process from 'node:process'
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { type HashKey, hashKeyFrom } from '../contract/identity/keys.ts'
import { isMadeWith } from '../db/schema/installation.ts'
import { isMigrated, MigrationRefused, readMigrations } from '../db/schema/migrate.ts'
import { openDatabase } from '../db/connection/open-database.ts'
import type { Sql } from '../db/connection/postgres.ts'
import { type Explained, explainPostgres, explainRedis } from '../runtime/explain-fault.ts'
import { codeOf, describeFault } from '../runtime/fault.ts'
import { pathOfCaller as pathIn } from '../runtime/path-of-caller.ts'
import { printable } from '../runtime/printable.ts'
import { serviceEnvironment } from '../runtime/service-file.ts'
import {
  BadSettings,
  type Environment,
  readSettings,
  type SettingName,
  type Settings,
  withSecretFiles,
} from '../runtime/settings.ts'
import type { JobQueues } from '../queue/jobs/job-queues.ts'
import type { RedisClient } from '../queue/redis/connect-redis.ts'
import { isRefusedByRedis } from '../queue/redis/refusal-of-redis.ts'

type OpenRedis = { redis: RedisClient; prefix: string }

/** The arguments and connections of a command. The connections close when the command ends well. */
export type CommandContext = {
  sql: Sql
  /** DATABASE_URL. */
  databaseUrl: string
  /** The values of the options that may not be repeated. */
  values: Readonly<Record<string, string | undefined>>
  /** Every value of an option that may be repeated. */
  valuesOf: (option: string) => readonly string[]
  hasFlag: (flag: string) => boolean
  /**
   * HASH_KEY.
   *
   * @throws CommandError when the database has another key or none
   */
  readHashKey: () => Promise<HashKey>
  openRedis: () => Promise<OpenRedis>
  openQueues: () => Promise<OpenRedis & { queues: JobQueues }>
}

type Command = {
  usage: string
  /** The names of options with a value. */
  options?: readonly string[]
  /** The names of options with a value that may be repeated. */
  lists?: readonly string[]
  /** The names of options without a value. */
  flags?: readonly string[]
  /** The command reads only what the role of `npm run reader` may read. Its session is read-only. */
  isReadOnly?: boolean
  /**
   * The command takes a word that is not an option. For an action, such a word is always allowed.
   */
  takesWord?: boolean
  /** Opens the servers of the command; by default it uses those of the service. */
  openServers?: (values: CommandContext['values']) => Promise<OpenedServers>
  /** What the command does, or each of its actions by name. */
  run: Action | Readonly<Record<string, Action>>
}

/** `environment` has the addresses. `stop` ends the servers that were started for the command. */
export type OpenedServers = { environment: Environment; stop: () => Promise<void> }

type Action = (context: CommandContext, word: string | undefined) => Promise<void>

/** An error whose message is written for the operator. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

type ParsedValues = Readonly<Record<string, string | string[] | true | undefined>>

const STATEMENT_TIMEOUT_MS = 60 * 60 * 1_000

export const print = (line: string): void => void process.stdout.write(`${printable(line)}\n`)

/** The path of a file that the caller named. */
export const pathOfCaller = (path: string): string => pathIn(path, process.env)

/**
 * Runs a command of an operator: parses its words, and runs its action with a connection to
 * Postgres. Exits with 0, or with 1 and a message about the error. `--help` prints the usage.
 */
export const runCommand = async (command: Command): Promise<never> => {
  const fail = (error: unknown): never => {
    process.stderr.write(`${explain(error, command.usage)}\n`)
    return process.exit(1)
  }
  process.stdout.on('error', (error) => fail(new CommandError(cannotPrint(error))))
  try {
    const { values, positionals } = parseArgs({ options: parsedOptions(command), allowPositionals: true })
    if (values['help'] === true) print(command.usage)
    else await runWithServers(command, values as ParsedValues, actionOf(command, positionals))
    // The command ends well only once its output is written. On a full disk the promise stays
    // pending, and the error event of stdout ends the process.
    await new Promise((resolve) => process.stdout.write('', (error) => error || resolve(undefined)))
    return process.exit(0)
  } catch (error) {
    return fail(error)
  }
}

const parsedOptions = ({ options = [], lists = [], flags = [] }: Command): NonNullable<ParseArgsConfig['options']> => ({
  ...Object.fromEntries(options.map((name) => [name, { type: 'string' }])),
  ...Object.fromEntries(lists.map((name) => [name, { type: 'string', multiple: true }])),
  ...Object.fromEntries(flags.map((name) => [name, { type: 'boolean' }])),
  help: { type: 'boolean', short: 'h' },
})

/** An action, together with its word. */
type ChosenAction = (context: CommandContext) => Promise<void>

/** @throws CommandError when there is no such action, or when there are too many words */
const actionOf = ({ usage, run, takesWord = false }: Command, words: readonly string[]): ChosenAction => {
  const [name = '', word] = words
  if (typeof run === 'function') {
    if (words.length > (takesWord ? 1 : 0)) throw new CommandError(usage)
    return (context) => run(context, words[0])
  }
  if (words.length > 2 || !Object.hasOwn(run, name)) throw new CommandError(usage)
  return (context) => run[name]!(context, word)
}

const OTHER_KEY =
  'HASH_KEY is not the one that this database was made with. Set the key from hash.key in DATA_DIR or from your store of secrets.'

const NO_KEY_YET =
  'The database has no HASH_KEY yet. Start the API or a worker once: the start binds the database to the key.'

const runWithServers = async (command: Command, values: ParsedValues, run: ChosenAction): Promise<void> => {
  const opened = await command.openServers?.(argumentsFrom(values).values)
  try {
    await runConnected(command, { values, run, environment: opened?.environment ?? (await environmentOfService()) })
  } finally {
    await opened?.stop()
  }
}

type ConnectedRun = { values: ParsedValues; run: ChosenAction; environment: Environment }

const runConnected = async (command: Command, { values, run, environment }: ConnectedRun): Promise<void> => {
  const read = <const Names extends readonly SettingName[]>(names: Names): Settings<Names[number]> =>
    readSettings(names, environment)
  const database = read(['DATABASE_URL', 'DATABASE_SCHEMA', 'DATABASE_POOLER'])
  const sql = openForCommand(database, {
    name: 'command',
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    isReadOnly: command.isReadOnly ?? false,
  })
  // Only a command that ends well waits for its connections to close. After a fault a server may
  // not answer.
  const opened = new AsyncDisposableStack()
  opened.defer(() => sql.end({ timeout: 5 }))
  const openRedis: CommandContext['openRedis'] = async () => {
    const { REDIS_URL, REDIS_PREFIX } = read(['REDIS_URL', 'REDIS_PREFIX'])
    const redis = await connectToRedis(REDIS_URL)
    opened.defer(() => redis.disconnect())
    return { redis, prefix: REDIS_PREFIX }
  }
  const context: CommandContext = {
    sql,
    databaseUrl: database.DATABASE_URL,
    ...argumentsFrom(values),
    readHashKey: async () => {
      const hashKey = hashKeyFrom(read(['HASH_KEY']).HASH_KEY)
      const isSame = await isMadeWith(sql, hashKey)
      if (isSame) return hashKey
      throw new CommandError(isSame === undefined ? NO_KEY_YET : OTHER_KEY)
    },
    openRedis,
    openQueues: async () => {
      const { redis, prefix } = await openRedis()
      const { closeQueues, openQueues } = await import('../queue/jobs/job-queues.ts')
      const queues = openQueues(redis, prefix)
      opened.defer(() => closeQueues(queues))
      return { redis, prefix, queues }
    },
  }
  await run(context).catch((error: unknown) => explainUnlessMigrated(sql, error))
  await opened.disposeAsync()
}

/** The clients of Redis take long to load, and many commands use Postgres alone. */
const connectToRedis = async (url: string): Promise<RedisClient> => {
  const { connectForCommand } = await import('../queue/redis/connect-redis.ts')
  return connectForCommand(url).catch((error: unknown) => {
    throw new CommandError(inOneLine(explainRedis(error)))
  })
}

const argumentsFrom = (values: ParsedValues): Pick<CommandContext, 'values' | 'valuesOf' | 'hasFlag'> => ({
  values: values as CommandContext['values'],
  valuesOf: (option) => [values[option] ?? []].flat() as string[],
  hasFlag: (flag) => values[flag] === true,
})

/** SQLSTATEs for a missing table, function, column or schema. */
const MISSING = ['42P01', '42883', '42703', '3F000']

/** @throws the error, or a CommandError that asks for a migration if one would help. */
const explainUnlessMigrated = async (sql: Sql, error: unknown): Promise<never> => {
  const isMissing = MISSING.includes(codeOf(error) ?? '')
  if (!isMissing || (await isMigrated(sql, await readMigrations()))) throw error
  throw new CommandError(`The database is not migrated (${describeFault(error)}). Run: npm run migrate`)
}

const environmentOfService = async (): ReturnType<typeof serviceEnvironment> => {
  const environment = await serviceEnvironment(withSecretFiles(process.env))
  if (environment['DATABASE_URL']) return environment
  throw new CommandError('No service runs here: start it with `npm start`, or set DATABASE_URL to its database.')
}

/**
 * One connection to Postgres. The server cancels a statement that takes longer than
 * `statementTimeoutMs`.
 */
export const openForCommand = (
  settings: Settings<'DATABASE_URL' | 'DATABASE_SCHEMA' | 'DATABASE_POOLER'>,
  how: { name: string; statementTimeoutMs: number; isReadOnly?: boolean },
): Sql => openDatabase({ ...settings, DATABASE_CONNECTIONS: 1 }, how)

/** The message for each kind of error. `explainPostgres` also explains a fault of this program. */
const explain = (error: unknown, usage: string): string => {
  if (error instanceof CommandError || error instanceof BadSettings || error instanceof MigrationRefused) {
    return error.message
  }
  if (error instanceof Error && codeOf(error)?.startsWith('ERR_PARSE_ARGS')) return `${error.message}\n\n${usage}`
  // On a full disk, Deno throws from `print`, and Bun emits an error event of stdout.
  if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return cannotPrint(error)
  return inOneLine(isRefusedByRedis(error) ? explainRedis(error) : explainPostgres(error))
}

const inOneLine = ({ what, remedy }: Explained): string => `${what} ${remedy}`

const cannotPrint = (error: unknown): string =>
  codeOf(error) === 'EPIPE'
    ? 'The program that reads the output has ended, so this command has stopped.'
    : `The output cannot be written (${describeFault(error)}). Free some space, or redirect the output to another disk.`
