import { Cluster, Redis, type RedisOptions, ReplyError } from 'ioredis'
import { type RedisAccess, readRedisUrl } from '../process/redis-address.ts'

/** A connection to one server, to the master that sentinels name, or to all nodes of a cluster. */
export type RedisClient = Redis | Cluster
/** A connection to one server that holds keys. */
export type RedisServer = Redis

const CONNECT_TIMEOUT_MS = 2_000
const COMMAND_TIMEOUT_MS = 2_000
const LONGEST_RECONNECT_DELAY_MS = 2_000
/** A worker's command waits for its node of a cluster as long as it takes: for hours, with 100 ms between attempts. */
const REDIRECTIONS_OF_WORK = 1_000_000
/** With 100 ms between them, an answer still comes within three seconds. */
const REDIRECTIONS_OF_ANSWER = 8

const reconnectDelay = (times: number): number => Math.min(50 * 2 ** Math.min(times, 10), LONGEST_RECONNECT_DELAY_MS)

/**
 * For processes that answer requests: a command fails within two seconds when Redis is away or hangs, and at once when its connection
 * breaks. A command that failed may have been carried out, or may still be, but the client never sends it a second time.
 */
export const connectToAnswer = (url: string): RedisClient =>
  connect(url, {
    maxRedirections: REDIRECTIONS_OF_ANSWER,
    retryDelayOnFailover: 0,
    enableOfflineQueue: false,
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: reconnectDelay,
  })

/** For workers: they wait for their Redis as long as it takes. */
export const connectToWork = (url: string): RedisClient =>
  connect(url, {
    maxRedirections: REDIRECTIONS_OF_WORK,
    connectTimeout: CONNECT_TIMEOUT_MS,
    maxRetriesPerRequest: null,
    retryStrategy: reconnectDelay,
  })

/**
 * For commands: connected when it resolves, and it does not come back when the connection ends.
 *
 * @throws when Redis cannot be reached, at once.
 */
export const connectForCommand = async (url: string): Promise<RedisClient> => {
  const redis = connect(url, {
    maxRedirections: REDIRECTIONS_OF_ANSWER,
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: () => null,
  })
  redis.on('error', () => {})
  await redis.connect()
  return redis
}

type ConnectOptions = Pick<
  RedisOptions,
  'lazyConnect' | 'enableOfflineQueue' | 'commandTimeout' | 'connectTimeout' | 'maxRetriesPerRequest'
> & {
  /** Attempts of a command at the nodes of a cluster. */
  maxRedirections: number
  /** With 0, ioredis does not send a command to a cluster again whose connection broke; `maxRetriesPerRequest` is for one server. */
  retryDelayOnFailover?: number
  retryStrategy: (times: number) => number | null
}

/** Whether Redis itself answered with an error. */
export const isRefusedByRedis = (error: unknown): boolean => error instanceof ReplyError

/** The one place that knows what a REDIS_URL names. @throws when it has no form of one. */
const connect = (url: string, { maxRedirections, retryDelayOnFailover, ...options }: ConnectOptions): RedisClient => {
  const address = readRedisUrl(url)
  switch (address?.kind) {
    case 'server':
      return new Redis(address.url, options)
    case 'sentinel':
      return new Redis({
        ...options,
        ...loginTo(address.access),
        sentinels: [...address.sentinels],
        name: address.master,
        sentinelRetryStrategy: options.retryStrategy,
        // Else a master that hangs and was replaced keeps its connections, and whoever waits on them.
        failoverDetector: options.lazyConnect !== true,
      })
    case 'cluster': {
      const { lazyConnect = false, enableOfflineQueue = true, retryStrategy, ...ofNode } = options
      const cluster = new Cluster([...address.nodes], {
        lazyConnect,
        enableOfflineQueue,
        maxRedirections,
        ...(retryDelayOnFailover !== undefined && { retryDelayOnFailover }),
        clusterRetryStrategy: retryStrategy,
        slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
        // Names go to TLS as they are given, or no certificate would fit.
        dnsLookup: (name, callback) => callback(null, name),
        redisOptions: { ...ofNode, ...loginTo(address.access) },
      })
      return reviveCopies(cluster)
    }
    case undefined:
      throw new Error('REDIS_URL has no form of one.')
  }
}

/** Fails before BullMQ takes it for hung, which is after six seconds, and connects it anew. */
const REDIRECTIONS_OF_WAITING = 16
const LOOK_EVERY_MS = 1_000

/**
 * Sees to the copies with which BullMQ 6.7.0 waits for jobs. It disconnects and connects them itself when a node is away, and in ioredis
 * 6.0.0 the events of both then meet: a copy ends up closed for good, and nobody takes jobs from its queue any more. Found by
 * killing nodes under idle workers. One that is closed at two looks is connected again.
 */
const reviveCopies = (cluster: Cluster): Cluster => {
  const duplicate = cluster.duplicate.bind(cluster)
  cluster.duplicate = (nodes, options) => {
    const copy: Cluster = duplicate(nodes, { ...options, maxRedirections: REDIRECTIONS_OF_WAITING })
    let wasClosed = false
    const look = (): void => {
      const isClosed = ['close', 'disconnecting', 'end'].includes(copy.status)
      if (isClosed && wasClosed) {
        // Whoever waits for its end has not been told.
        copy.emit('end')
        copy.connect().catch(() => {})
      }
      wasClosed = isClosed
    }
    setInterval(look, LOOK_EVERY_MS).unref()
    return copy
  }
  return cluster
}

type Login = Pick<
  RedisOptions,
  'username' | 'password' | 'sentinelPassword' | 'tls' | 'enableTLSForSentinelMode' | 'sentinelTLS'
>

const loginTo = ({ username, password, sentinelPassword, isEncrypted }: RedisAccess): Login => ({
  ...(username !== undefined && { username }),
  ...(password !== undefined && { password }),
  ...(sentinelPassword !== undefined && { sentinelPassword }),
  ...(isEncrypted && { tls: {}, enableTLSForSentinelMode: true, sentinelTLS: {} }),
})

/**
 * The servers that hold keys: of a cluster all that have slots. Commands without a key go to each of them, or to any one.
 *
 * @throws when a cluster's node is not reached: without it, nobody could say that something is nowhere.
 */
export const serversOf = async (redis: RedisClient): Promise<Redis[]> => {
  if (!(redis instanceof Cluster)) return [redis]
  const ranges = await redis.cluster('SLOTS')
  const expected = new Set(ranges.map(([, , master]) => `${master?.[0]}:${master?.[1]}`))
  const masters = redis.nodes('master')
  if (masters.length < expected.size) {
    throw new Error(`${expected.size - masters.length} of ${expected.size} nodes of the cluster are away.`)
  }
  return masters
}

/** @throws when one of the servers does not answer. */
export const pingRedis = async (redis: RedisClient): Promise<void> => {
  await Promise.all((await serversOf(redis)).map((server) => server.ping()))
}

/** Names of keys that match, some at a time, from all servers. One that comes, goes or moves meanwhile may be missed or come twice. */
export const scanKeys = async function* (
  redis: RedisClient,
  { match, count }: { match: string; count: number },
): AsyncGenerator<string[]> {
  for (const server of await serversOf(redis)) {
    for await (const found of server.scanStream({ match, count })) yield found as string[]
  }
}

export type RedisCondition = { policy: string; appendOnly: boolean; usedBytes: number; maxBytes: number }

/**
 * What a Redis says about its memory and its append-only file; of a cluster, the memory of the node that is fullest, and of the rest
 * the worst. `maxBytes` 0 means that it has no bound.
 */
export const redisCondition = async (redis: RedisClient): Promise<RedisCondition> => {
  const each = await Promise.all((await serversOf(redis)).map(serverCondition))
  const fullest = each.reduce((one, other) => (fullness(other) > fullness(one) ? other : one))
  return {
    ...fullest,
    policy: each.find((server) => unfitness(server) !== undefined)?.policy ?? fullest.policy,
    appendOnly: each.every(({ appendOnly }) => appendOnly),
  }
}

const fullness = ({ usedBytes, maxBytes }: RedisCondition): number => (maxBytes === 0 ? 0 : usedBytes / maxBytes)

/** What one server says about its memory and its append-only file. */
export const serverCondition = async (server: Redis): Promise<RedisCondition> => {
  const info = await server.info()
  const field = (name: string): string => new RegExp(`^${name}:(.*)\\r?$`, 'm').exec(info)?.[1] ?? ''
  return {
    policy: field('maxmemory_policy'),
    appendOnly: field('aof_enabled') === '1',
    usedBytes: Number(field('used_memory')),
    maxBytes: Number(field('maxmemory')),
  }
}

/** The reason why this Redis must not be used, if there is one: with an eviction policy it would drop accepted work. */
export const unfitness = ({ policy }: RedisCondition): string | undefined =>
  policy === 'noeviction'
    ? undefined
    : `Redis has maxmemory-policy ${policy}, which loses accepted submissions. Set it to noeviction.`
