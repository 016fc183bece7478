import { codeOf, describeFault, isOfFile } from './fault.ts'

/** An explanation of a server's fault, with its kind and code, and the remedy. */
export type Explained = { what: string; remedy: string }

type ServerSetting = { name: 'Postgres' | 'Redis'; setting: 'DATABASE_URL' | 'REDIS_URL' }
type CodeMeaning = readonly [codes: RegExp, what: string, remedy: string]

const POSTGRES: ServerSetting = { name: 'Postgres', setting: 'DATABASE_URL' }
const REDIS: ServerSetting = { name: 'Redis', setting: 'REDIS_URL' }

/** The first match counts. `explain` fills in SETTING. */
const OF_CONNECTIONS: readonly CodeMeaning[] = [
  [/^(?:ENOTFOUND|EAI_\w+|ENODATA)$/, 'the name of its host is not known here', 'Check the host in SETTING.'],
  [/^ECONNREFUSED$/, 'nothing listens at its address', 'Check that it runs, and check host and port in SETTING.'],
  [
    /^(?:ETIMEDOUT|CONNECT_TIMEOUT|EHOSTUNREACH|ENETUNREACH|NO_ANSWER)$/,
    'it does not answer',
    'Check host and port in SETTING, whether that port speaks TLS, and whether a firewall blocks this machine.',
  ],
  [
    /^(?:ENOENT|EACCES)$/,
    'its socket is not there, or closed to this user',
    'Check the folder and the port in SETTING.',
  ],
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired', 'Renew the certificate of the server.'],
  [/ALTNAME/, 'its certificate has another name than the host', 'Write the host in SETTING as the certificate has it.'],
  [
    /CERT|LEAF_SIGNATURE|ISSUER/,
    'its certificate is from an authority that is not trusted here',
    'Set NODE_EXTRA_CA_CERTS to the file with the certificate of that authority.',
  ],
  [
    /^(?:EPROTO|ERR_SSL|ERR_TLS)/,
    'it does not speak TLS at this port',
    'Check the port in SETTING, or remove TLS from SETTING.',
  ],
  [
    /^(?:ECONNRESET|CONNECTION_CLOSED|CONNECTION_DESTROYED|EPIPE)$/,
    'it ended the connection',
    'Check its log, the port in SETTING, and whether it speaks TLS at this port.',
  ],
]

const OF_POSTGRES: readonly CodeMeaning[] = [
  [/^28P01$/, 'user or password is wrong', 'Correct them in SETTING.'],
  [
    /^28000$/,
    'it does not let this user in from here',
    'Check user and database in SETTING. If the server requires TLS, append ?sslmode=require.',
  ],
  [/^3D000$/, 'it has no such database', 'Create the database, or correct its name in SETTING.'],
  [/^42501$/, 'the user may not do this', 'Use the owner of the tables, or grant the missing rights.'],
  [/^53100$/, 'its disk is full', 'Free some space on the disk of Postgres.'],
  [/^53300$/, 'all its connections are in use', 'Lower DATABASE_CONNECTIONS, or raise max_connections.'],
  [
    /^(?:08P01|26000)$/,
    'a pooler in between does not pass on every message',
    'Behind a pooler in transaction mode set DATABASE_POOLER=transaction.',
  ],
  [/^25006$/, 'it takes no writes here: it is a standby, or read-only', 'Name the primary in SETTING.'],
]

const OF_REDIS: readonly CodeMeaning[] = [
  [/^(?:WRONGPASS|NOAUTH)$/, 'user or password is wrong', 'Correct them in SETTING.'],
  [/^NOPERM$/, 'the user may not do this', 'Grant all commands on its keys to the user in SETTING.'],
  [
    /^MISCONF$/,
    'it takes no writes, since it cannot write to its disk',
    'Check its disk and its log. Turn snapshots off with save "" in redis.conf.',
  ],
  [/^LOADING$/, 'it still loads its data', 'Try again in a moment.'],
  [/^READONLY$/, 'it takes no writes here: it is a replica', 'Name the master in SETTING.'],
  [/^OOM$/, 'it has no memory left', 'Check that workers run, or raise maxmemory.'],
]

export const explainPostgres = (error: unknown): Explained =>
  explain(error, POSTGRES, OF_POSTGRES) ??
  (error instanceof Error && error.name === 'PostgresError'
    ? { what: `Postgres failed with ${describeFault(error)}.`, remedy: 'Look in its log.' }
    : unexplained(error))

export const explainRedis = (error: unknown): Explained =>
  explain(error, REDIS, OF_REDIS) ?? {
    what: `Redis failed with ${describeFault(error)}.`,
    remedy: 'Check REDIS_URL and the log of Redis.',
  }

/** The fault may come from this program. */
const unexplained = (error: unknown): Explained => ({
  what: `This failed with ${describeFault(error)}.`,
  remedy: 'Check the logs of Postgres and Redis.',
})

const explain = (
  error: unknown,
  { name, setting }: ServerSetting,
  own: readonly CodeMeaning[],
): Explained | undefined => {
  const code = codeOf(error) ?? ''
  const ofConnection = isOfFile(error) ? undefined : OF_CONNECTIONS.find(([codes]) => codes.test(code))
  const meaning = own.find(([codes]) => codes.test(code)) ?? ofConnection
  if (meaning === undefined) return undefined
  const [, what, remedy] = meaning
  const how = meaning === ofConnection ? 'cannot be reached' : 'refuses'
  return { what: `${name} ${how}: ${what} (${describeFault(error)}).`, remedy: remedy.replaceAll('SETTING', setting) }
}
