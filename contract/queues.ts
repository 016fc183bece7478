/**
 * Each kind of work has a queue, so that operators can watch, pause and scale it by itself. `wake`:
 * workspaces with little to apply; `backlog`: a workspace with much to apply; `removal`: the
 * records of purges; `tagging`: tags of stored records; `webhook`: deliveries to webhooks.
 */
export const QUEUE_NAMES = ['wake', 'backlog', 'removal', 'tagging', 'webhook'] as const
export type QueueName = (typeof QUEUE_NAMES)[number]
