/**
 * Each kind of work has its own queue, which operators can watch, pause and scale alone. `wake`:
 * workspaces with little to apply; `backlog`: a workspace with much to apply; `removal`: the
 * records of purges; `tagging`: tags of stored records; `webhook`: deliveries to webhooks.
 */
export const QUEUE_NAMES = ['wake', 'backlog', 'removal', 'tagging', 'webhook'] as const
export type QueueName = (typeof QUEUE_NAMES)[number]
