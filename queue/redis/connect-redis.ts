import { type Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis'
import { type RedisAccess, readRedisUrl } from '../../runtime/redis-address.ts'
import { withinTime } from '../../runtime/within-time.ts'
import { openCluster } from './ioredis-cluster-fixes.ts'

/** A connection to one server, to the master that sentinels name, or to all nodes of a cluster. */
export type RedisClient = Redis | Cluster

const CONNECT_TIMEOUT_MS = 2_000
const COMMAND_TIMEOUT_MS = 2_000
/** For command-line programs. A Redis that starts reads its append-only file before it answers. */
const PROGRAM_CONNECTED_WITHIN_MS = 10_000
/**
 * A connection with waiting commands that is silent for this time is replaced. After a network
 * partition, TCP itself would try again up to a minute later. A worker's command may wait for jobs,
 * 10 s at most.
 */
const SILENT_MS = { answer: 4_000, work: 15_000 } as const
/**
 * A replaced master may still have connections, and refuses writes as a replica. The sentinels or
 * the cluster know the new master. A refused command was not carried out.
 */
const RECONNECT = { only: 1, andSendAgain: 2 } as const
const isFromReplica = (error: Error): boolean => error.message.startsWith('READONLY')
const LONGEST_RECONNECT_DELAY_MS = 2_000
const SLOTS_REFRESHED_EVERY_MS = 2_000
/** With 100 ms between attempts, a worker's command waits for a node of a cluster for a day. */
const REDIRECTIONS_OF_WORK = 1_000_000
/** With 100 ms between attempts, a command on a cluster ends within three seconds. */
const REDIRECTIONS_OF_ANSWER = 8

const reconnectDelay = (times: number): number => Math.min(50 * 2 ** Math.min(times, 10), LONGEST_RECONNECT_DELAY_MS)

/**
 * For processes that answer requests. If Redis is away or hangs, a command fails within two
 * seconds, or three on a cluster. If its connection breaks, a command fails immediately. Redis may
 * carry out a failed command all the same, but the client never sends a failed command again.
 */
export const connectToAnswer = (url: string): RedisClient =>
  connect(url, {
    maxRedirections: REDIRECTIONS_OF_ANSWER,
    enableOfflineQueue: false,
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SILENT_MS.answer,
    reconnectOnError: (error) => isFromReplica(error) && RECONNECT.only,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // The next two stop ioredis from sending a command again after its connection broke: the first
    // on one server, the second on a cluster.
    maxRetriesPerRequest: 0,
    retryDelayOnFailover: 0,
    retryStrategy: reconnectDelay,
  })

/**
 * For workers. A command waits until Redis is back, and is sent again if its answer was lost with
 * the connection. CLIENT LIST shows `name`.
 */
export const connectToWork = (url: string, name?: string): RedisClient =>
  connect(url, {
    ...(name !== undefined && { connectionName: name }),
    maxRedirections: REDIRECTIONS_OF_WORK,
    socketTimeout: SILENT_MS.work,
    reconnectOnError: (error) => isFromReplica(error) && RECONNECT.andSendAgain,
    connectTimeout: CONNECT_TIMEOUT_MS,
    maxRetriesPerRequest: null,
    retryStrategy: reconnectDelay,
  })

/**
 * For command-line programs. The client is connected when this resolves, and does not reconnect
 * when the connection ends.
 *
 * @throws the cause, immediately if Redis is unreachable, or when Redis has not answered in time
 */
export const connectForCommand = async (url: string): Promise<RedisClient> => {
  const redis = connect(url, {
    maxRedirections: REDIRECTIONS_OF_ANSWER,
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    retryStrategy: () => null,
  })
  // `connect` rejects with the end of the connection. An event has the cause.
  let cause: unknown
  for (const event of ['error', 'node error']) redis.on(event, (error: unknown) => (cause ??= error))
  try {
    await withinTime(redis.connect(), PROGRAM_CONNECTED_WITHIN_MS)
    return redis
  } catch (error) {
    redis.disconnect()
    throw cause ?? error
  }
}

/**
 * Calls `listen` at each new connection, before commands are sent on it, and when another node of a
 * cluster may have taken over a slot.
 */
export const onNewConnection = (redis: RedisClient, listen: () => void): void => {
  redis.on('connect', listen)
  if (!redis.isCluster) return
  const onNode = (node: Redis): unknown => node.on('connect', listen)
  ;(redis as Cluster).nodes().forEach(onNode)
  redis.on('+node', onNode)
  redis.on('refresh', listen)
}

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

/**
 * Connects to a server, to sentinels or to a cluster, as the URL says.
 *
 * @throws if the URL is not valid.
 */
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
        // No failoverDetector: that of ioredis 6.0.0 ends the client for good if a new master is
        // announced while the detector connects.
      })
    case 'cluster': {
      const { lazyConnect = false, enableOfflineQueue = true, retryStrategy, ...ofNode } = options
      return openCluster(address.nodes, {
        lazyConnect,
        enableOfflineQueue,
        maxRedirections,
        ...(retryDelayOnFailover !== undefined && { retryDelayOnFailover }),
        clusterRetryStrategy: retryStrategy,
        slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
        // Without this, a node that comes back stays unknown until a command fails. `serversOf`
        // counts an unknown node as away.
        slotsRefreshInterval: SLOTS_REFRESHED_EVERY_MS,
        // TLS needs the given host names to verify certificates.
        dnsLookup: (name, callback) => callback(null, name),
        redisOptions: { ...ofNode, ...loginTo(address.access) },
      })
    }
    case undefined:
      throw new Error('REDIS_URL is not valid: expected a URL of a server, a cluster or sentinels.')
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
