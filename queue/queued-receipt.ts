import type { Job } from 'bullmq'
import type { Receipt } from '../contract/receipt.ts'
import { batchIdOf, LONGEST_HEAD, readHead, submissionIdIn } from './batch.ts'
import type { RedisClient } from './connect-redis.ts'
import type { JobQueues } from './job-queues.ts'
import { admissionKeys, MICROSECONDS_PER_MS, readCarrier } from './keys.ts'

/** The receipt of a submission of this workspace that is still queued. Its id tells its batch; or it is a batch by itself. */
export const findQueuedReceipt = async (
  { redis, prefix, queues }: { redis: RedisClient; prefix: string; queues: JobQueues },
  { workspaceId, id }: { workspaceId: string; id: string },
): Promise<Receipt | undefined> => {
  const name = admissionKeys(prefix, workspaceId)
  const batchId = batchIdOf(id)
  const [ofBatch, ofOne] = await Promise.all(
    [batchId, id].map((one) => redis.getrange(name.batch(one), 0, LONGEST_HEAD - 1)),
  )
  const text = ofOne || ofBatch
  if (!text) return undefined
  const { number, isOfOne, operations } = readHead(text)
  // The id of a batch is that of no submission in it, unless it is a batch by itself.
  const found = operations.find(({ place }) => (isOfOne ? ofOne !== '' : submissionIdIn(batchId, place) === id))
  if (found === undefined) return undefined
  const carrier = await redis.hget(name.carriers, ofOne ? id : batchId)
  const ms = Math.floor((number + found.place - 1) / MICROSECONDS_PER_MS)
  return {
    id,
    operation: found.operation,
    state: 'queued',
    attempts: await attemptsMade(queues, carrier),
    acceptedAt: new Date(ms).toISOString(),
    finishedAt: null,
    error: null,
  }
}

/** How often the job that carries a batch was tried; 0 when there is none. */
const attemptsMade = async (queues: JobQueues, carrier: string | null): Promise<number> => {
  if (carrier === null) return 0
  const { queue, jobId } = readCarrier(carrier)
  const job: Job | undefined = await queues[queue].getJob(jobId)
  return job?.attemptsMade ?? 0
}
