type Host = { host: string; port: number }

/**
 * The login to the servers and to the sentinels, and whether connections use TLS. Sentinels have a
 * password of their own or none.
 */
export type RedisAccess = { username?: string; password?: string; sentinelPassword?: string; isEncrypted: boolean }

/**
 * The target of a REDIS_URL: one server, seed nodes of a cluster, or sentinels that know a master.
 */
type RedisAddress =
  | { kind: 'server'; url: string }
  | { kind: 'cluster'; nodes: readonly Host[]; access: RedisAccess }
  | { kind: 'sentinel'; sentinels: readonly Host[]; master: string; access: RedisAccess }

const SEVERAL = new RegExp(
  [
    String.raw`^(?<protocol>rediss?)\+(?<kind>cluster|sentinel)://`,
    String.raw`(?:(?<user>[^:@/?]*)(?::(?<password>[^@/?]*))?@)?`,
    String.raw`(?<hosts>[^@/?]+)(?:/(?<master>[A-Za-z0-9._-]*))?`,
    String.raw`(?:\?sentinelPassword=(?<sentinelPassword>[^&]+))?$`,
  ].join(''),
)
const HOST = /^(?<host>\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::(?<port>\d{1,5}))?$/
const DEFAULT_PORT = { cluster: 6_379, sentinel: 26_379 } as const
const HIGHEST_PORT = 65_535

/**
 * Reads `redis://…`, `redis+cluster://user:password@host:port,host:port` or
 * `redis+sentinel://user:password@host:port,host:port/master?sentinelPassword=…`. With `rediss`,
 * connections use TLS. Returns undefined for any other text. A cluster needs its own scheme, since
 * its URL may have a single node: `redis://` with this node means a single server.
 */
export const readRedisUrl = (text: string): RedisAddress | undefined => {
  const parts = SEVERAL.exec(text)?.groups
  if (parts === undefined) {
    const isServer = URL.canParse(text) && ['redis:', 'rediss:'].includes(new URL(text).protocol)
    return isServer ? { kind: 'server', url: text } : undefined
  }
  const kind = parts['kind'] as 'cluster' | 'sentinel'
  const hosts = parts['hosts']!.split(',').map((host) => readHost(host, DEFAULT_PORT[kind]))
  const access = readAccess(parts)
  if (access === undefined || !hosts.every((host) => host !== undefined)) return undefined
  const master = parts['master'] ?? ''
  if (kind === 'sentinel') return master === '' ? undefined : { kind, sentinels: hosts, master, access }
  return master === '' && access.sentinelPassword === undefined ? { kind, nodes: hosts, access } : undefined
}

const readHost = (text: string, defaultPort: number): Host | undefined => {
  const { host, port = String(defaultPort) } = HOST.exec(text)?.groups ?? {}
  return host === undefined || Number(port) > HIGHEST_PORT
    ? undefined
    : { host: host.replaceAll(/[[\]]/g, ''), port: Number(port) }
}

const readAccess = (parts: Readonly<Record<string, string | undefined>>): RedisAccess | undefined => {
  try {
    const [username, password, sentinelPassword] = ['user', 'password', 'sentinelPassword'].map((name) =>
      decodeURIComponent(parts[name] ?? ''),
    )
    return {
      isEncrypted: parts['protocol'] === 'rediss',
      ...(username && { username }),
      ...(password && { password }),
      ...(sentinelPassword && { sentinelPassword }),
    }
  } catch {
    return undefined
  }
}
