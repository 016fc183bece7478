/** The servers that a DATABASE_URL names. */
type PostgresAddress = {
  /**
   * A URL for each server, with only the parameters that the driver takes. A socket's folder is the
   * host, percent-encoded.
   */
  urls: readonly string[]
  /** Whether the service must use the server that takes writes. */
  isPrimaryAsked: boolean
  /** Whether the URL says that a pooler in transaction mode is in between. */
  isPooled: boolean
}

const PARTS =
  /^(?<scheme>postgres(?:ql)?:\/\/)(?:(?<login>[^/?#]*)@)?(?<hosts>[^@/?#]*)(?<path>(?:\/[^?#@]*)?)(?:\?(?<query>[^#]*))?$/
const ATTRIBUTE = 'target_session_attrs'

/**
 * Parameters that the driver can ignore, from hosting providers and other drivers. `host`, `port`
 * and `pgbouncer` are read separately.
 */
const HARMLESS: ReadonlySet<string> = new Set([
  'channel_binding',
  'client_encoding',
  'connect_timeout',
  'connection_limit',
  'fallback_application_name',
  'gssencmode',
  'host',
  'keepalives',
  'keepalives_count',
  'keepalives_idle',
  'keepalives_interval',
  'load_balance_hosts',
  'pgbouncer',
  'pool_timeout',
  'port',
  'socket_timeout',
  'sslcompression',
  'sslsni',
  'statement_cache_size',
  'supa',
  'tcp_user_timeout',
])
/**
 * `options` sets session settings, by which some hosting providers route to the database.
 * `application_name` tells operators whose connection it is.
 */
const FOR_THE_DRIVER: ReadonlySet<string> = new Set(['application_name', 'options', 'sslnegotiation'])
/** The remedies for known parameters that cannot be ignored. */
const INSTEAD: Readonly<Record<string, string>> = {
  currentSchema: 'set DATABASE_SCHEMA instead',
  password: 'write it before the host, as user:password@',
  schema: 'set DATABASE_SCHEMA instead',
  search_path: 'set DATABASE_SCHEMA instead',
  sslaccept: 'write sslmode=verify-full or sslmode=require instead',
  sslcert: 'certificates of clients are not supported',
  sslkey: 'certificates of clients are not supported',
  sslrootcert: 'set NODE_EXTRA_CA_CERTS to that file instead',
  user: 'write it before the host, as user:password@',
}
const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']
/** Names of the modes in other drivers. */
const SSL_MODES_ELSEWHERE: Readonly<Record<string, string>> = {
  '0': 'disable',
  '1': 'verify-full',
  false: 'disable',
  'no-verify': 'require',
  true: 'verify-full',
}
const SERVERS_THAT_TAKE_WRITES = ['read-write', 'primary']
/** The driver handles these for a single server. */
const SESSIONS_OF_ONE = ['read-only', 'standby', 'prefer-standby']
/** A parameter name. Any other text may be a piece of a password without percent-encoding. */
const NAME = /^[A-Za-z_]+$/

const FORM =
  'a URL such as postgres://user:password@host:5432/database, with the characters : / ? # @ % of a password percent-encoded'
const SEVERAL = `?${ATTRIBUTE}=read-write after several hosts`
const SESSIONS = [...SERVERS_THAT_TAKE_WRITES, ...SESSIONS_OF_ONE, 'any']

/**
 * Reads `postgres://user:password@host:port,host:port/database?target_session_attrs=read-write`,
 * with libpq's rules for hosts, except for lists of ports. `primary` means the same as
 * `read-write`. Several servers need one of the two. A returned text says what was expected
 * instead. It quotes at most the name of a parameter.
 */
export const readPostgresUrl = (text: string): PostgresAddress | string => {
  const { scheme, login, hosts = '', path = '', query = '' } = PARTS.exec(text.trim())?.groups ?? {}
  if (scheme === undefined || !isEncoded(login ?? '') || (login === undefined && query.includes('@'))) return FORM
  const given = new URLSearchParams(query)
  const parameters = readParameters(given)
  // The name in a refusal may be a piece of a password that has a `?`.
  if (typeof parameters === 'string') return query.includes('@') ? FORM : parameters
  const { asked, kept } = parameters
  const before = `${scheme}${login === undefined ? '' : `${login}@`}`
  const after = `${path}${kept.size === 0 ? '' : `?${kept.toString()}`}`
  const servers = hostsOf(hosts, given)
  const isHost = (host: string): boolean => (host !== '' || servers.length === 1) && URL.canParse(before + host + after)
  if (!servers.every((host) => isHost(host))) return FORM
  const isPrimaryAsked = asked !== undefined && SERVERS_THAT_TAKE_WRITES.includes(asked)
  if (servers.length > 1 && !isPrimaryAsked) return SEVERAL
  const urls = servers.map((host) => new URL(before + host + after).href)
  return { urls, isPrimaryAsked, isPooled: given.get('pgbouncer') === 'true' }
}

/** The same address with another user. `password` needs no percent-encoding. */
export const withLogin = (text: string, user: string, password: string): string => {
  const { scheme = '', login } = PARTS.exec(text.trim())?.groups ?? {}
  const rest = text.trim().slice(scheme.length + (login === undefined ? 0 : login.length + 1))
  return `${scheme}${user}:${password}@${rest}`
}

const isEncoded = (text: string): boolean => {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/**
 * The parameters `host` and `port` replace the host and port of the URL, as in libpq. A host
 * without a port in `port` gets the first port in `port`, else the last port of the URL.
 */
const hostsOf = (hosts: string, given: URLSearchParams): string[] => {
  const [names, ports] = ['host', 'port'].map((name) => given.get(name)?.split(','))
  const [, ownPort] = /:(\d+)$/.exec(hosts) ?? []
  if (names === undefined && ports === undefined) return hosts.split(',')
  return (names?.map(asHost) ?? hosts.replace(/:\d+$/, '').split(',')).map((host, at) => {
    const port = ports?.[at] ?? ports?.[0] ?? ownPort
    return port ? `${host}:${port}` : host
  })
}

const asHost = (name: string): string => {
  if (name.startsWith('/')) return encodeURIComponent(name)
  return name.includes(':') ? `[${name}]` : name
}

type Parameters = { kept: URLSearchParams; asked: string | undefined }

/** The parameters for the driver, or a text that says what was expected instead. */
const readParameters = (given: URLSearchParams): Parameters | string => {
  const kept = new URLSearchParams()
  let asked: string | undefined
  for (const [name, value] of given) {
    if (name === 'sslmode' || name === 'ssl') {
      const mode = SSL_MODES_ELSEWHERE[value] ?? value
      if (!SSL_MODES.includes(mode)) return `sslmode as one of ${SSL_MODES.join(', ')}`
      kept.set('sslmode', mode)
    } else if (name === 'sslrootcert' && value === 'system') kept.set('sslmode', 'verify-full')
    else if (name === ATTRIBUTE) {
      if (!SESSIONS.includes(value)) return `${ATTRIBUTE} as one of ${SESSIONS.join(', ')}`
      asked = value
      if (SESSIONS_OF_ONE.includes(value)) kept.set(name, value)
    } else if (FOR_THE_DRIVER.has(name)) kept.set(name, value)
    else if (!HARMLESS.has(name)) return NAME.test(name) ? refusalOf(name) : FORM
  }
  return { kept, asked }
}

const refusalOf = (name: string): string =>
  `no parameter ${name}${INSTEAD[name] === undefined ? ', which is not known here' : `: ${INSTEAD[name]}`}`
