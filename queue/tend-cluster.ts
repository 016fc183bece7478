import type { Cluster } from 'ioredis'

/** With these, a command fails before BullMQ takes its connection for hung, which is after six seconds, and connects it anew. */
const REDIRECTIONS_OF_WAITING = 16
const LOOK_EVERY_MS = 1_000

/**
 * Mends what ioredis 6.0.0 leaves open when nodes of a cluster die and come back, found by killing them under load: in either case the
 * connection with which a worker of BullMQ 6.7.0 waits was never used again, and nobody took jobs from its queue any more.
 */
export const tendCluster = (cluster: Cluster): Cluster => {
  const duplicate = cluster.duplicate.bind(cluster)
  cluster.duplicate = (nodes, options) =>
    revive(settleConnect(duplicate(nodes, { ...options, maxRedirections: REDIRECTIONS_OF_WAITING })))
  return settleConnect(cluster)
}

/**
 * The promise of `connect` is forgotten when a node answers that the cluster is down, and a later attempt succeeds by itself
 * (redis/ioredis#741). So that success, or the end of all attempts, settles it as well.
 */
const settleConnect = (cluster: Cluster): Cluster => {
  const connect = cluster.connect.bind(cluster)
  cluster.connect = () => {
    let stopListening = (): unknown => undefined
    const later = new Promise<void>((resolve, reject) => {
      const onEnd = (): void => {
        if (cluster.status === 'end') reject(new Error('Connection is closed.'))
      }
      cluster.on('ready', resolve).on('end', onEnd)
      stopListening = () => cluster.off('ready', resolve).off('end', onEnd)
    })
    return Promise.race([connect(), later]).finally(() => stopListening())
  }
  return cluster
}

/**
 * BullMQ disconnects and connects the copy that waits itself when a node is away, and the events of both then meet: the copy ends up
 * closed for good. One that is closed at two looks is connected again.
 */
const revive = (copy: Cluster): Cluster => {
  let wasClosed = false
  const look = (): void => {
    const isClosed = ['close', 'disconnecting', 'end'].includes(copy.status)
    if (isClosed && wasClosed) {
      // The code that waits for the end of the copy has not been told of it.
      copy.emit('end')
      copy.connect().catch(() => {})
    }
    wasClosed = isClosed
  }
  setInterval(look, LOOK_EVERY_MS).unref()
  return copy
}
