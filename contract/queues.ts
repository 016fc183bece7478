/** Each kind of work has a queue of its own, which can be watched, paused and scaled alone. */
export const QUEUE_NAMES = ['submissions', 'conversations', 'purges', 'backlogs', 'tagging'] as const
export type QueueName = (typeof QUEUE_NAMES)[number]

/** The queues whose jobs name batches of submissions. A job of `backlogs` names a workspace, one of `tagging` stored records. */
export const BATCH_QUEUES = ['submissions', 'conversations', 'purges'] as const satisfies readonly QueueName[]
export type BatchQueueName = (typeof BATCH_QUEUES)[number]

/** The hash tag keeps all keys of one queue in one slot of a Redis Cluster, and spreads the queues over the slots. */
export const queuePrefix = (prefix: string, queue: QueueName): string => `{${prefix}:queue:${queue}}`

/** How many finished jobs a queue keeps, and for how many seconds. */
export const FINISHED_JOBS_KEPT = { count: 1_000, age: 3_600 } as const
const ATTEMPTS = 8
const FIRST_RETRY_MS = 500

/** The options with which every job is queued. */
export const JOB_OPTIONS = {
  attempts: ATTEMPTS,
  backoff: { type: 'exponential', delay: FIRST_RETRY_MS, jitter: 0.5 },
} as const
