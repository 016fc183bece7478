import { randomUUID } from 'node:crypto'
import { admissionKeys } from '../../queue/keys.ts'
import { JOB_VERSION, type Operation, type SubmissionJob } from '../../contract/job.ts'
import { type JobQueues, submissionEnqueuer } from '../../queue/job-queues.ts'
import type { Service } from './service.ts'

export type Injected = { submissionId: string; number: number }

/**
 * Queues a job that no check has seen, as if an older ingress had let it in, and counts it as accepted. A NUL in one of its
 * texts is refused by Postgres.
 */
export const inject = async (
  { redis, redisPrefix, workspaceId }: Pick<Service, 'redis' | 'redisPrefix' | 'workspaceId'>,
  queues: JobQueues,
  { operation = 'create_feedback', body }: { operation?: Operation; body: object },
): Promise<Injected> => {
  const name = admissionKeys(redisPrefix, workspaceId)
  const submissionId = randomUUID()
  const [seconds, microseconds] = await redis.time()
  const number = Number(seconds) * 1_000_000 + Number(microseconds)
  await redis.hincrby(name.ledger, 'accepted', 1)
  await redis.zadd(name.outstanding, number, submissionId)
  const admitted = { version: JOB_VERSION, workspaceId, submissionId, number }
  await submissionEnqueuer(redis, queues)({ ...admitted, operation, body } as SubmissionJob)
  return { submissionId, number }
}

/** A feedback as it lies in a queue. */
export const feedbackBody = (description: string, more: object = {}): object => ({
  description,
  isExternalContactId: false,
  isExternalAccountId: false,
  ...more,
})
