import type { Cluster } from 'ioredis'

/**
 * With these, a command fails before BullMQ takes its connection for hung, which is after six
 * seconds, and connects it again.
 */
const REDIRECTIONS_OF_WAITING = 16
const LOOK_EVERY_MS = 1_000

/**
 * Mends what ioredis 6.0.0 leaves open when nodes of a cluster die and come back, found by killing
 * them under load. In two cases the connection with which a worker of BullMQ 6.7.0 waits was never
 * used again, and its queue stood still; in the third, commands got the answers
 * to others.
 */
export const tendCluster = (cluster: Cluster): Cluster => {
  const duplicate = cluster.duplicate.bind(cluster)
  cluster.duplicate = (nodes, options) =>
    revive(keepWhole(settleConnect(duplicate(nodes, { ...options, maxRedirections: REDIRECTIONS_OF_WAITING }))))
  return keepWhole(settleConnect(cluster))
}

/**
 * While the node of a key is away, each command of a pipeline is given to a node drawn at random
 * until one takes it. Without an offline queue the first can be refused and the next taken: the
 * whole is then never written, but the connection waits for an answer to the second, and from then
 * on each of its commands gets the answer to the one before. So what follows a refused command is
 * refused too.
 */
const keepWhole = (cluster: Cluster): Cluster => {
  if (cluster.options.enableOfflineQueue !== false) return cluster
  const send = cluster.sendCommand.bind(cluster)
  const refused = new WeakSet<object>()
  // The commands of a pipeline share `node`, which has a connection once one of them was taken.
  cluster.sendCommand = (command, stream, node?: { redis?: unknown }) => {
    if (node !== undefined && refused.has(node)) {
      command.reject(new Error('Connection is closed.'))
      return command.promise
    }
    const answer = send(command, stream, node)
    if (node !== undefined && node.redis === undefined) refused.add(node)
    return answer
  }
  return cluster
}

/**
 * The promise of `connect` is forgotten when a node answers that the cluster is down, and a later
 * attempt succeeds by itself (redis/ioredis#741). So that success, or the end of all attempts,
 * settles it as well.
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
 * BullMQ disconnects and connects the copy that waits itself when a node is away, and the events of
 * both then meet: the copy ends up closed for good. One that is closed at two looks is connected
 * again.
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
