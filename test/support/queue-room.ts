import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type Job, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { type QueueName, queuePrefix } from '../../contract/queues.ts'
import type { Sayings } from '../../contract/identity/sayings.ts'
import type { Admission, AdmissionRequest, Admit } from '../../queue/admission.ts'
import { admissionsIn } from '../../queue/admit.ts'
import { batchIdOf } from '../../queue/batch.ts'
import { type Books, booksIn } from '../../queue/books.ts'
import type { Settled } from '../../queue/settle.ts'
import { type HandOver, handingOverIn } from '../../queue/hand-over.ts'
import { closeQueues, type JobQueues, openQueues } from '../../queue/job-queues.ts'
import { testServers } from './servers.ts'

/** Of a process that dies before it hands over what it admitted. */
export const handsNothingOver: HandOver = async () => {}

export const NOTHING_SAID: Sayings = { newIds: [], aboutKeys: [] }

export const asked = (
  given: Partial<AdmissionRequest> & { workspaceId: string; sayings?: Sayings; lookUp?: readonly string[] },
): AdmissionRequest => {
  const { sayings = NOTHING_SAID, lookUp = [], ...request } = given
  return {
    operation: 'create_feedback',
    bodyText: '{"description":"x"}',
    saidBy: () => ({ sayings, lookUp }),
    ...request,
  }
}

export type Entered = Extract<Admission, { submissionId: string }>

export const entered = (admission: Admission | undefined): Entered => {
  assert.ok(admission?.outcome === 'admitted' || admission?.outcome === 'repeated', String(admission?.outcome))
  return admission
}

type QueueRoom = {
  prefix: string
  redis: Redis
  queues: JobQueues
  handOver: HandOver
  books: Books
  /** Admits as a process does that dies before it hands over. Postgres has no idempotency key. */
  admit: Admit
  /** Likewise, with numbers above a floor. */
  admitAbove: (floorOf: (workspaceId: string) => Promise<number>) => Admit
  /** A batch on the books, with what each of its submissions says. */
  readSettled: (workspaceId: string, submissionId: string, sayings?: Sayings) => Promise<Settled>
  /** Settles the batch in which a submission was admitted. */
  settle: (workspaceId: string, submissionId: string, sayings?: Sayings) => Promise<void>
  /** Takes jobs of a queue, one by one, as a worker does. */
  takeJobs: (
    name: QueueName,
  ) => Promise<{ token: string; take: () => Promise<Job | undefined>; close: () => Promise<void> }>
  /** Our keys of one workspace, without what their names have in common. */
  keysOf: (workspaceId: string) => Promise<string[]>
  close: () => Promise<void>
}

/** The queue room with a prefix of its own. */
export const openQueueRoom = (): QueueRoom => {
  const prefix = `t_${randomBytes(6).toString('hex')}`
  const redis = new Redis(testServers().redisUrl, { maxRetriesPerRequest: null })
  const queues = openQueues(redis, prefix, () => {})
  const books = booksIn(redis, prefix)
  const readSettled: QueueRoom['readSettled'] = async (workspaceId, submissionId, sayings = NOTHING_SAID) => {
    const batch =
      (await books.read({ workspaceId, batchId: submissionId })) ??
      (await books.read({ workspaceId, batchId: batchIdOf(submissionId) }))
    assert.ok(batch, 'the batch is on the books')
    return { batch, sayings: batch.submissions.map(() => sayings) }
  }
  const admitAbove: QueueRoom['admitAbove'] = (floorOf) =>
    admissionsIn({ redis, prefix, handOver: handsNothingOver, floorOf, findStoredKey: async () => null })
  return {
    prefix,
    redis,
    queues,
    handOver: handingOverIn({ redis, prefix, queues, notedEveryMs: 0 }),
    books,
    admit: admitAbove(async () => 0),
    admitAbove,
    readSettled,
    settle: async (workspaceId, submissionId, sayings) =>
      books.settle([await readSettled(workspaceId, submissionId, sayings)]),
    takeJobs: async (name) => {
      const token = randomBytes(4).toString('hex')
      const worker = new Worker(name, null, { connection: redis, prefix: queuePrefix(prefix, name) })
      worker.on('error', () => {})
      await worker.waitUntilReady()
      return { token, take: () => worker.getNextJob(token, { block: false }), close: () => worker.close() }
    },
    keysOf: async (workspaceId) => {
      const base = `{${prefix}:${workspaceId}}:`
      return (await redis.keys(`${base}*`)).map((key) => key.slice(base.length)).toSorted()
    },
    close: async () => {
      await closeQueues(queues)
      await forgetKeys(redis, prefix)
      await redis.quit()
    },
  }
}

/** Removes all keys with a prefix, ours and BullMQ's. */
export const forgetKeys = async (redis: Redis, prefix: string): Promise<void> => {
  for await (const keys of redis.scanStream({ match: `{${prefix}:*`, count: 1_000 })) {
    if (keys.length > 0) await redis.unlink(keys as string[])
  }
}
