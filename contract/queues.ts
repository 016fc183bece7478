/**
 * Each kind of work has a queue of its own, which can be watched, paused and scaled alone. `wake`:
 * workspaces with a little to apply; `backlog`: a workspace with much; `removal`: the records of
 * purges; `tagging`: tags of stored records; `webhook`: deliveries to webhooks.
 */
export const QUEUE_NAMES = ['wake', 'backlog', 'removal', 'tagging', 'webhook'] as const
export type QueueName = (typeof QUEUE_NAMES)[number]
