import type { Job } from 'bullmq'
import type { TaggingJob } from '../../contract/jobs.ts'
import { addTagging, type JobQueues } from './job-queues.ts'

/** How long the texts of short strides wait for further texts. */
const PUT_OFF_MS = 1_000
/** A job with this many texts does not wait. */
export const TEXTS_OF_A_JOB = 100

type OpenJob = { job: Job; data: TaggingJob; until: number }

/**
 * Returns a function that adds tagging jobs. A job of few texts begins after `PUT_OFF_MS`. Until
 * then, further texts of the workspace from this process join the job. Once the function resolves,
 * Redis has all texts.
 */
export const createPutOffTagging = (queues: JobQueues): ((jobs: readonly TaggingJob[]) => Promise<void>) => {
  const openJobs = new Map<string, OpenJob>()
  const addOne = async (data: TaggingJob): Promise<void> => {
    const open = openJobs.get(data.workspaceId)
    const joined = open && open.until > performance.now() ? join(open.data, data) : undefined
    if (joined && sizeOf(joined) <= TEXTS_OF_A_JOB && (await replaceData(open!.job, joined))) {
      open!.data = joined
      return
    }
    const until = performance.now() + PUT_OFF_MS
    const [job] = await addTagging(queues, [data], PUT_OFF_MS)
    openJobs.set(data.workspaceId, { job: job!, data, until })
  }
  return async (jobs) => {
    for (const [id, { until }] of openJobs) if (until <= performance.now()) openJobs.delete(id)
    const [large, small] = [jobs.filter(isLarge), jobs.filter((job) => !isLarge(job))]
    await Promise.all([addTagging(queues, large), ...small.map(addOne)])
  }
}

const sizeOf = ({ feedbackIds, conversationIds, indexedIds = [] }: TaggingJob): number =>
  feedbackIds.length + conversationIds.length + indexedIds.length

const isLarge = (job: TaggingJob): boolean => sizeOf(job) >= TEXTS_OF_A_JOB

const join = (first: TaggingJob, second: TaggingJob): TaggingJob => {
  const traceparents = [...(first.traceparents ?? []), ...(second.traceparents ?? [])]
  const indexedIds = [...new Set([...(first.indexedIds ?? []), ...(second.indexedIds ?? [])])]
  return {
    workspaceId: first.workspaceId,
    feedbackIds: [...new Set([...first.feedbackIds, ...second.feedbackIds])],
    conversationIds: [...new Set([...first.conversationIds, ...second.conversationIds])],
    ...(indexedIds.length > 0 && { indexedIds }),
    ...(traceparents.length > 0 && { traceparents }),
  }
}

/**
 * Returns whether the job will be processed with these data. A job that has begun meanwhile may have
 * read the former data. BullMQ refuses to replace the data of a removed job.
 */
const replaceData = async (job: Job, data: TaggingJob): Promise<boolean> => {
  try {
    await job.updateData(data)
    return await job.isDelayed()
  } catch {
    // If Redis is away, adding another job fails as well.
    return false
  }
}
