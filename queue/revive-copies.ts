import type { Cluster } from 'ioredis'

/** With these, a command fails before BullMQ takes its connection for hung, which is after six seconds, and connects it anew. */
const REDIRECTIONS_OF_WAITING = 16
const LOOK_EVERY_MS = 1_000

/**
 * Looks after the copies of a cluster's connection with which BullMQ 6.7.0 waits for jobs. BullMQ disconnects and connects them itself
 * when a node is away, and in ioredis 6.0.0 the events of both then meet: a copy ends up closed for good, and nobody takes jobs from its
 * queue any more. This was found by killing nodes under idle workers. A copy that is closed at two looks is connected again.
 */
export const reviveCopies = (cluster: Cluster): Cluster => {
  const duplicate = cluster.duplicate.bind(cluster)
  cluster.duplicate = (nodes, options) => {
    const copy: Cluster = duplicate(nodes, { ...options, maxRedirections: REDIRECTIONS_OF_WAITING })
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
  return cluster
}
