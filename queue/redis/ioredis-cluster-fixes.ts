import { Cluster, type ClusterNode } from 'ioredis'

/** With this limit, a command fails before BullMQ treats its connection as hung and reconnects. */
const REDIRECTIONS_OF_WAITING = 16
const CHECK_EVERY_MS = 1_000

/**
 * Makes a cluster client, and mends four faults of ioredis 6.0.0 that show while nodes of a cluster
 * die and come back. With three of them, a BullMQ 6.7.0 worker never uses its blocking connection
 * again, and its queue stands still. With the fourth, a command gets the answer to another command.
 */
export const openCluster = (
  given: readonly ClusterNode[],
  options: ConstructorParameters<typeof Cluster>[1],
): Cluster => {
  // The client and its duplicates keep this array, and read it at each attempt to connect.
  const nodes = [...given]
  const cluster = new Cluster(nodes, options)
  rememberNodes(cluster, { nodes, given })
  const duplicate = cluster.duplicate.bind(cluster)
  cluster.duplicate = (_, changed) =>
    reviveDuplicate(
      keepPipelinesWhole(settleConnect(duplicate(nodes, { ...changed, maxRedirections: REDIRECTIONS_OF_WAITING }))),
    )
  return keepPipelinesWhole(settleConnect(cluster))
}

/**
 * A client that has lost all its connections asks only the given nodes for the others. If these are
 * away, it stays closed, although the cluster serves all slots. So the known nodes join the given.
 */
const rememberNodes = (
  cluster: Cluster,
  { nodes, given }: { nodes: ClusterNode[]; given: readonly ClusterNode[] },
): void => {
  cluster.on('refresh', () => {
    const known = cluster.nodes().map(({ options: { host, port } }) => ({ host, port }))
    nodes.splice(given.length, Infinity, ...known)
  })
}

/**
 * While the node of a key is away, ioredis tries random nodes for each command of a pipeline.
 * Without an offline queue, a node can refuse the first command and take the second. The pipeline
 * is then never written, but the connection waits for an answer to the second command. Each later
 * command gets the answer to the command before it. So after a refused command, all later commands
 * of the pipeline are refused as well.
 */
const keepPipelinesWhole = (cluster: Cluster): Cluster => {
  if (cluster.options.enableOfflineQueue !== false) return cluster
  const send = cluster.sendCommand.bind(cluster)
  const refused = new WeakSet<object>()
  // The commands of a pipeline share `node`, which has a connection once a command was taken.
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
 * ioredis never settles the promise of `connect` if a node answers that the cluster is down, even
 * if a later attempt succeeds (redis/ioredis#741). So the success of a later attempt, or the end of
 * all attempts, settles the promise as well.
 */
const settleConnect = (cluster: Cluster): Cluster => {
  const connect = cluster.connect.bind(cluster)
  cluster.connect = () => {
    let stopListening = (): unknown => undefined
    const connected = new Promise<void>((resolve, reject) => {
      const onEnd = (): void => {
        if (cluster.status === 'end') reject(new Error('Connection is closed.'))
      }
      cluster.on('ready', resolve).on('end', onEnd)
      stopListening = () => cluster.off('ready', resolve).off('end', onEnd)
    })
    return Promise.race([connect(), connected]).finally(() => stopListening())
  }
  return cluster
}

/**
 * BullMQ reconnects its blocking duplicate when a node is away, which can leave the duplicate
 * closed for good. A duplicate that is closed at two checks in a row is connected again, also one
 * that BullMQ has closed on purpose: its process ends soon after.
 */
const reviveDuplicate = (copy: Cluster): Cluster => {
  let wasClosed = false
  const check = (): void => {
    const isClosed = ['close', 'disconnecting', 'end'].includes(copy.status)
    if (isClosed && wasClosed) {
      // The code that waits for the end of the duplicate has not received the event.
      copy.emit('end')
      copy.connect().catch(() => {})
    }
    wasClosed = isClosed
  }
  setInterval(check, CHECK_EVERY_MS).unref()
  return copy
}
