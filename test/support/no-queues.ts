import type { Queueing } from '../../queue/job-queues.ts'

const unexpected = async (): Promise<never> => {
  throw new Error('Nothing is queued here.')
}

/** For admissions that come without jobs. */
export const noQueues: Queueing = { enqueue: unexpected, isQueued: unexpected, namesOf: () => '' }
