import type { Admission, AdmissionRequest, Admit } from './admission.ts'
import { type AskAdmission, askAdmissionsIn } from './ask-admission.ts'
import type { RedisClient } from './connect-redis.ts'
import type { Queueing } from './job-queues.ts'

/** A larger job is queued after its submission has entered, so that of a refused submission no more reaches Redis. */
const QUEUED_AT_ONCE_CHARACTERS = 64 * 1024

/**
 * Decides whether a submission enters, gives it its acceptance number, and queues its job. Numbers are strictly increasing in their
 * workspace, whichever process asks, and never at or below `floor`.
 */
export const admissionsIn = (redis: RedisClient, prefix: string, queueing: Queueing): Admit => {
  /** Where the job is queued by the admission itself. It cannot be on a cluster, whose slots are apart. */
  const queueOf = ({ operation, job }: AdmissionRequest): string | undefined =>
    job !== undefined && !redis.isCluster && job.length <= QUEUED_AT_ONCE_CHARACTERS
      ? queueing.namesOf(operation)
      : undefined
  const ask = askAdmissionsIn({ redis, prefix, queueOf })
  return async (request) => {
    const admission = await decide(request, ask, queueing)
    const isQueued = request.job === undefined || queueOf(request) !== undefined
    if (admission.outcome === 'admitted' && !isQueued) await enqueue(request, admission.number, queueing)
    return admission
  }
}

/** A repeated submission is told as such only when it is settled or queued: it may have been lost between admission and queue. */
const decide = async (request: AdmissionRequest, ask: AskAdmission, queueing: Queueing): Promise<Admission> => {
  const { admission, standing } = await ask(request)
  if (admission.outcome !== 'repeated' || standing === 'settled') return admission
  const { submissionId, bucket } = admission
  if (await queueing.isQueued({ ...request, submissionId })) return admission
  if (standing === 'outstanding') return { outcome: 'in-flight', bucket }
  // If the lost submission was settled only now, it is no longer outstanding, and the answer is `repeated` after all.
  return (await ask({ ...request, lost: submissionId })).admission
}

const enqueue = (
  { operation, submissionId, job }: AdmissionRequest,
  number: number,
  queueing: Queueing,
): Promise<void> => queueing.enqueue({ operation, submissionId, text: `{"number":${number},${job!.slice(1)}` })
