import { Cluster, type ClusterOptions, Redis, type RedisOptions, ReplyError } from 'ioredis'
import { type RedisAccess, readRedisUrl } from '../../runtime/redis-address.ts'
import { withinTime } from '../../runtime/within-time.ts'
import { tendCluster } from './ioredis-cluster-fixes.ts'

/** A connection to one server, to the master that sentinels name, or to all nodes of a cluster. */
export type RedisClient = Redis | Cluster

const CONNECT_TIMEOUT_MS = 2_000
const COMMAND_TIMEOUT_MS = 2_000
/** A Redis that reads its append-only file answers later. */
const COMMAND_CONNECTED_WITHIN_MS = 10_000
/**
 * A connection on which commands wait and nothing comes for so long is given up for a new one.
 * After a network that parted for a minute, TCP itself tries again up to a minute later. A worker's
 * command may wait for jobs, 10 s at most.
 */
const SILENT_MS = { answer: 4_000, work: 15_000 } as const
/**
 * A master that was replaced and has not said so, or whose word was lost with the network, refuses
 * writes as a replica: the sentinels or the cluster know the new one. What it refused it has not
 * carried out.
 */
const RECONNECT = { only: 1, andSendAgain: 2 } as const
const isReplica = (error: Error): boolean => error.message.startsWith('READONLY')
const LONGEST_RECONNECT_DELAY_MS = 2_000
const SLOTS_REFRESHED_EVERY_MS = 2_000
/**
 * A worker's command waits for its node of a cluster as long as it takes: for hours, with 100 ms
 * between attempts.
 */
const REDIRECTIONS_OF_WORK = 1_000_000
/** With 100 ms between them, an answer still comes within three seconds. */
const REDIRECTIONS_OF_ANSWER = 8

const reconnectDelay = (times: number): number => Math.min(50 * 2 ** Math.min(times, 10), LONGEST_RECONNECT_DELAY_MS)

/**
 * For processes that answer requests: a command fails within two seconds when Redis is away or
 * hangs, and at once when its connection breaks. A command that failed may have been carried out,
 * or may still be, but the client never sends it a second time.
 */
export const connectToAnswer = (url: string): RedisClient =>
  connect(url, {
    maxRedirections: REDIRECTIONS_OF_ANSWER,
    enableOfflineQueue: false,
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SILENT_MS.answer,
    reconnectOnError: (error) => isReplica(error) && RECONNECT.only,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // Both keep ioredis from sending a command again whose connection broke, the first on one
    // server, the second on a cluster.
    maxRetriesPerRequest: 0,
    retryDelayOnFailover: 0,
    retryStrategy: reconnectDelay,
  })

/**
 * For workers: a command waits for its Redis as long as it takes, and is sent again when its answer
 * was lost with the connection. `name` is shown by CLIENT LIST.
 */
export const connectToWork = (url: string, name?: string): RedisClient =>
  connect(url, {
    ...(name !== undefined && { connectionName: name }),
    maxRedirections: REDIRECTIONS_OF_WORK,
    socketTimeout: SILENT_MS.work,
    reconnectOnError: (error) => isReplica(error) && RECONNECT.andSendAgain,
    connectTimeout: CONNECT_TIMEOUT_MS,
    maxRetriesPerRequest: null,
    retryStrategy: reconnectDelay,
  })

/**
 * For commands: the client is connected when this resolves, and does not connect again when the
 * connection ends.
 *
 * @throws the cause, at once when Redis cannot be reached, else when it has not answered in time.
 */
export const connectForCommand = async (url: string): Promise<RedisClient> => {
  const redis = connect(url, {
    maxRedirections: REDIRECTIONS_OF_ANSWER,
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: () => null,
  })
  // The client rejects with the end of the connection. The cause of the end is an event.
  let cause: unknown
  for (const event of ['error', 'node error']) redis.on(event, (error: unknown) => (cause ??= error))
  try {
    await withinTime(redis.connect(), COMMAND_CONNECTED_WITHIN_MS)
    return redis
  } catch (error) {
    redis.disconnect()
    throw cause ?? error
  }
}

/**
 * Calls `listen` at each new connection, before commands are sent on it, and when another node of a
 * cluster may have taken a slot over.
 */
export const onNewConnection = (redis: RedisClient, listen: () => void): void => {
  redis.on('connect', listen)
  if (!redis.isCluster) return
  const onNode = (node: Redis): unknown => node.on('connect', listen)
  ;(redis as Cluster).nodes().forEach(onNode)
  redis.on('+node', onNode)
  redis.on('refresh', listen)
}

/** Whether Redis refused a command since it has no memory left. */
export const isFullRedis = (error: unknown): boolean => isRefusedByRedis(error) && error.message.startsWith('OOM ')

/** Whether Redis itself answered with an error. */
export const isRefusedByRedis = (error: unknown): error is Error => error instanceof ReplyError

type ConnectOptions = Pick<
  RedisOptions,
  | 'connectionName'
  | 'lazyConnect'
  | 'enableOfflineQueue'
  | 'commandTimeout'
  | 'socketTimeout'
  | 'reconnectOnError'
  | 'connectTimeout'
  | 'maxRetriesPerRequest'
> &
  Pick<ClusterOptions, 'maxRedirections' | 'retryDelayOnFailover'> & {
    retryStrategy: (times: number) => number | null
  }

/** This alone knows what a REDIS_URL names. @throws when the URL has none of its forms. */
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
        // Without the failoverDetector of ioredis 6.0.0: told of a new master while it connects, it
        // ends the client for good.
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
        // A node that was away is otherwise not known again before a command fails for want of it,
        // and `serversOf` counts it as away.
        slotsRefreshInterval: SLOTS_REFRESHED_EVERY_MS,
        // TLS gets the names as they are given, or no certificate would fit.
        dnsLookup: (name, callback) => callback(null, name),
        redisOptions: { ...ofNode, ...loginTo(address.access) },
      })
      return tendCluster(cluster)
    }
    case undefined:
      throw new Error('REDIS_URL has no form of one.')
  }
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
