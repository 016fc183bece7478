import { randomUUID } from 'node:crypto'
import { JOB_VERSION, type Operation, QUEUE_OF, type SubmissionJob } from '../../contract/job.ts'
import { booksIn } from '../../queue/books.ts'
import { handingOverIn } from '../../queue/hand-over.ts'
import type { JobQueues } from '../../queue/job-queues.ts'
import { admissionKeys } from '../../queue/keys.ts'
import type { Service } from './service.ts'

export type Injected = { submissionId: string; number: number }

/**
 * Queues a submission that no check has seen, as if an older ingress had let it in, and counts it as accepted. A NUL in one of its
 * texts is refused by Postgres. `agoMs` has it wait for longer than it does.
 */
export const inject = async (
  { redis, redisPrefix, workspaceId }: Pick<Service, 'redis' | 'redisPrefix' | 'workspaceId'>,
  queues: JobQueues,
  { operation = 'create_feedback', body, agoMs = 0 }: { operation?: Operation; body: object; agoMs?: number },
): Promise<Injected> => {
  const submissionId = randomUUID()
  const [seconds, microseconds] = await redis.time()
  const number = Number(seconds) * 1_000_000 + Number(microseconds) - agoMs * 1_000
  await redis.hincrby(admissionKeys(redisPrefix, workspaceId).ledger, 'accepted', 1)
  const submission = { version: JOB_VERSION, workspaceId, submissionId, number, operation, body } as SubmissionJob
  await booksIn(redis, redisPrefix).put({ submission, idempotency: undefined }, { newIds: [], aboutKeys: [] })
  const batch = { workspaceId, batchId: submissionId, operations: [operation], bytes: 0 }
  await handingOverIn({ redis, prefix: redisPrefix, queues, notedEveryMs: 0 })(QUEUE_OF[operation], batch)
  return { submissionId, number }
}

/** A feedback as it lies in a queue. */
export const feedbackBody = (description: string, more: object = {}): object => ({
  description,
  isExternalContactId: false,
  isExternalAccountId: false,
  ...more,
})
