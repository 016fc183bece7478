import { readFileSync } from 'node:fs'
import * as v from 'valibot'
import { MAX_BODY_BYTES, MAX_BYTES_IN_HAND, MAX_CONVERSATION_BODY_BYTES } from '../contract/limits.ts'
import { QUEUE_NAMES } from '../contract/jobs.ts'
import { isPlausibleToken } from '../contract/token-format.ts'
import { LOG_LEVELS } from './logger.ts'
import { readPostgresUrl } from './postgres-address.ts'
import { readRedisUrl } from './redis-address.ts'

/** `expected` may depend on the given text, but quotes no value from it. */
const setting = <S extends v.GenericSchema<string | undefined, unknown>>(
  schema: S,
  expected: string | ((given: string) => string | undefined),
) => ({
  schema,
  expected,
})

const port = v.pipe(
  v.string(),
  v.regex(/^\d{1,5}$/),
  v.transform(Number),
  v.check((value) => value <= 65_535),
)
const wholeNumber = (from: number, to: number) =>
  v.pipe(
    v.string(),
    v.regex(/^\d{1,15}$/),
    v.transform(Number),
    v.check((value) => value >= from && value <= to),
  )
const bodyBytes = (bytes: number) =>
  setting(v.optional(wholeNumber(1, 64 * 1024 * 1024), String(bytes)), 'bytes from 1 to 67108864')
const address = setting(v.optional(v.pipe(v.string(), v.nonEmpty()), '127.0.0.1'), 'an address to listen on')
const bootstrapToken = setting(
  v.optional(v.pipe(v.string(), v.check(isPlausibleToken))),
  '16 to 200 visible ASCII characters; if it begins with fbi_, a whole token that this service made',
)
const httpUrl = v.pipe(
  v.string(),
  v.check((value) => URL.canParse(value) && ['http:', 'https:'].includes(new URL(value).protocol)),
)

const list = v.pipe(
  v.string(),
  v.transform((value) => value.split(',').map((item) => item.trim())),
)
const queueList = v.pipe(
  list,
  v.array(v.picklist(QUEUE_NAMES)),
  v.transform((names) => [...new Set(names)]),
)
const hostList = v.pipe(list, v.array(v.pipe(v.string(), v.regex(/^[a-z0-9:._-]{1,253}$/))))
const originList = v.pipe(
  list,
  v.check((origins) => origins.every((origin) => /^https?:/.test(origin) && isOrigin(origin))),
)
const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text

const postgresProblem = (given: string): string | undefined => {
  const read = readPostgresUrl(given)
  return typeof read === 'string' ? read : undefined
}
const postgresUrl = v.pipe(
  v.string(),
  v.check((value) => postgresProblem(value) === undefined),
)

/**
 * The environment variables of the processes, each with its form, its default and the expected form
 * in words. Each process reads only the variables that it needs.
 */
export const SETTINGS = {
  PORT: setting(v.optional(port, '3000'), 'a port from 1 to 65535, or 0 for any free one'),
  HOST: address,
  DATABASE_URL: setting(postgresUrl, postgresProblem),
  /** A standby that the reads of the API may ask. */
  READS_DATABASE_URL: setting(v.optional(postgresUrl), postgresProblem),
  READS_AT_ONCE: setting(v.optional(wholeNumber(1, 1_000), '4'), 'a whole number from 1 to 1000'),
  REDIS_URL: setting(
    v.pipe(
      v.string(),
      v.check((value) => readRedisUrl(value) !== undefined),
    ),
    'a URL such as redis://user:password@host:6379, redis+cluster://host:6379,host:6379 or redis+sentinel://host:26379/master',
  ),
  REDIS_PREFIX: setting(
    v.optional(v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,40}$/)), 'feedback-insights'),
    'up to 40 letters, digits, hyphens and underscores',
  ),
  REDIS_REPLICAS_ACK: setting(v.optional(wholeNumber(0, 5), '0'), 'a whole number from 0 to 5'),
  DATABASE_SCHEMA: setting(
    v.optional(v.pipe(v.string(), v.regex(/^[a-z_][a-z0-9_]{0,62}$/))),
    'up to 63 lower-case letters, digits and underscores, and no digit first',
  ),
  DATABASE_POOLER: setting(
    v.optional(v.picklist(['session', 'transaction']), 'session'),
    'session or transaction, the mode of a pooler between the processes and Postgres',
  ),
  DATABASE_CONNECTIONS: setting(v.optional(wholeNumber(1, 1000), '8'), 'a whole number from 1 to 1000'),
  CITUS_SHARDS: setting(v.optional(wholeNumber(1, 1_000)), 'a whole number from 1 to 1000'),
  HASH_KEY: setting(v.pipe(v.string(), v.regex(/^[0-9a-fA-F]{64}$/)), '64 hexadecimal digits'),
  BOOTSTRAP_ACCESS_TOKEN: bootstrapToken,
  BOOTSTRAP_ADMIN_TOKEN: bootstrapToken,
  WORKER_PORT: setting(v.optional(port, '3001'), 'a port from 1 to 65535, or 0 for any free one'),
  WORKER_HOST: address,
  WORKER_QUEUES: setting(
    v.optional(queueList, QUEUE_NAMES.join(',')),
    `some of ${QUEUE_NAMES.join(', ')}, separated by commas`,
  ),
  SHUTDOWN_SECONDS: setting(v.optional(wholeNumber(1, 3_600), '15'), 'seconds from 1 to 3600'),
  REDO_SECONDS: setting(v.optional(wholeNumber(0, 600), '10'), 'seconds from 0 to 600'),
  RECEIPT_DAYS: setting(v.optional(wholeNumber(1, 36_500), '90'), 'days from 1 to 36500'),
  TOMBSTONE_DAYS: setting(v.optional(wholeNumber(1, 36_500), '90'), 'days from 1 to 36500'),
  LOG_LEVEL: setting(v.optional(v.picklist(LOG_LEVELS), 'info'), `one of ${LOG_LEVELS.join(', ')}`),
  MAX_BODY_BYTES: bodyBytes(MAX_BODY_BYTES),
  MAX_CONVERSATION_BYTES: bodyBytes(MAX_CONVERSATION_BODY_BYTES),
  CORS_ORIGINS: setting(
    v.optional(originList),
    'origins such as https://app.example.com, in lower case, without a path, separated by commas',
  ),
  MAX_BYTES_IN_HAND: setting(
    v.optional(wholeNumber(1, 1_000_000_000_000), String(MAX_BYTES_IN_HAND)),
    'bytes from 1 to 1000000000000',
  ),
  MAX_BACKLOG: setting(v.optional(wholeNumber(1, 1_000_000_000), '1000000'), 'a whole number from 1 to 1000000000'),
  CONVERSATIONS_PER_MINUTE: setting(v.optional(wholeNumber(1, 1_000_000), '10'), 'a whole number from 1 to 1000000'),
  SUBMISSIONS_PER_MINUTE: setting(
    v.optional(wholeNumber(1, 1_000_000)),
    'a whole number from 1 to 1000000, for each operation except POST /conversations',
  ),
  AGENT_CALLS_PER_MINUTE: setting(v.optional(wholeNumber(1, 1_000_000), '60'), 'a whole number from 1 to 1000000'),
  WEBHOOK_ALLOWED_HOSTS: setting(
    v.optional(hostList),
    'names of hosts or addresses in lower case, without a port, separated by commas',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    v.optional(httpUrl),
    'the URL of an OpenTelemetry collector such as http://collector:4318, without /v1/traces',
  ),
} as const

export type SettingName = keyof typeof SETTINGS
export type Settings<Names extends SettingName> = {
  readonly [N in Names]: v.InferOutput<(typeof SETTINGS)[N]['schema']>
}

/**
 * Settings are missing or malformed. The message has a line for each problem, with the expected
 * form and without the value.
 */
export class BadSettings extends Error {
  override readonly name = 'BadSettings'
}

/**
 * Settings that can also come from a file. The variable with `_FILE` after the name has the path.
 */
export const SECRETS = [
  'DATABASE_URL',
  'READS_DATABASE_URL',
  'REDIS_URL',
  'HASH_KEY',
  'BOOTSTRAP_ACCESS_TOKEN',
  'BOOTSTRAP_ADMIN_TOKEN',
] as const

const NO_SCHEMA_BEHIND_POOLER =
  'DATABASE_SCHEMA has no effect behind a pooler in transaction mode: set search_path for the role of DATABASE_URL instead.'

const POOLER_IS_NOT_SET = 'DATABASE_URL says pgbouncer=true: set DATABASE_POOLER=transaction.'
const SAME_TOKEN = 'BOOTSTRAP_ACCESS_TOKEN and BOOTSTRAP_ADMIN_TOKEN are the same: expected two different tokens.'

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Adds the secrets that are given as files only. White space at the ends of a file is cut off.
 *
 * @throws BadSettings when a file cannot be read.
 */
export const withSecretFiles = (environment: Environment): Environment => {
  const named = SECRETS.filter((name) => !environment[name] && environment[`${name}_FILE`])
  const unreadable: string[] = []
  const read = (name: string): [string, string | undefined] => {
    try {
      return [name, readFileSync(environment[`${name}_FILE`]!, 'utf8').trim()]
    } catch {
      unreadable.push(`${name}_FILE names no file that can be read.`)
      return [name, undefined]
    }
  }
  const secrets = Object.fromEntries(named.map(read))
  if (unreadable.length > 0) throw new BadSettings(unreadable.join('\n'))
  return { ...environment, ...secrets }
}

/**
 * Reads the named variables of an environment into a readonly object, secrets also from files.
 *
 * @throws BadSettings that lists all problems, or first the files that cannot be read.
 */
export const readSettings = <const Names extends readonly SettingName[]>(
  names: Names,
  given: Environment,
): Settings<Names[number]> => {
  const environment = withSecretFiles(given)
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const name of names) {
    const { schema, expected } = SETTINGS[name]
    const text = environment[name]
    const result = v.safeParse(schema, text === '' ? undefined : text)
    if (result.success) values[name] = result.output
    else {
      const form = typeof expected === 'string' ? expected : expected(text ?? '')
      problems.push(`${name} ${text ? 'is not valid' : 'is missing'}: expected ${form}.`)
    }
  }
  problems.push(...contradictionsIn(values))
  if (problems.length > 0) throw new BadSettings(problems.join('\n'))
  return Object.freeze(values) as Settings<Names[number]>
}

const contradictionsIn = (values: Partial<Record<SettingName, unknown>>): string[] => {
  const { DATABASE_POOLER, DATABASE_SCHEMA, DATABASE_URL, BOOTSTRAP_ACCESS_TOKEN, BOOTSTRAP_ADMIN_TOKEN } = values
  const server = typeof DATABASE_URL === 'string' ? readPostgresUrl(DATABASE_URL) : ''
  const isPooled = typeof server !== 'string' && server.isPooled
  return [
    ...(DATABASE_POOLER === 'transaction' && DATABASE_SCHEMA !== undefined ? [NO_SCHEMA_BEHIND_POOLER] : []),
    ...(isPooled && DATABASE_POOLER !== 'transaction' ? [POOLER_IS_NOT_SET] : []),
    ...(BOOTSTRAP_ADMIN_TOKEN !== undefined && BOOTSTRAP_ADMIN_TOKEN === BOOTSTRAP_ACCESS_TOKEN ? [SAME_TOKEN] : []),
  ]
}
