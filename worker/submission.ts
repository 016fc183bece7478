import * as v from 'valibot'
import { acceptedJob, settledJob, type SubmissionJob } from '../contract/job.ts'
import { describeFault, isPermanentFault } from '../process/fault.ts'
import { type DeliveredJob, giveBack, hopeless, isHopeless } from '../queue/delivered-job.ts'
import { clearBooks } from '../queue/withdraw.ts'
import { type Delivery, type Processor, type Work, withoutCause } from './delivery.ts'
import type { WorkerDependencies } from './dependencies.ts'
import { settleAsDead, type Settling } from './settle.ts'
import { beginSubmission, inSpan } from './trace-jobs.ts'
import { whenAvailable } from './when-available.ts'

const GIVEN_BACK_FOR_MS = 250

type Dependencies = WorkerDependencies & Settling

/**
 * The life of a submission's job: it is delivered, worked on, and then settled, given back to its queue or tried again. Returns
 * what became of the submission: `settled` when that had happened before, `dead` when it was set aside, else what `work` says.
 *
 * @throws when the job is given back or tried again, as BullMQ wants to hear it.
 */
export const submissionProcessor =
  (dependencies: Dependencies, work: Work): Processor =>
  async (job, lockToken) => {
    // The job is delivered again after its submission was settled: its worker may have died before it cleared the books.
    if (v.is(settledJob, job.data)) {
      await clearBooks(dependencies.redis, dependencies.prefix, job.data)
      return 'settled'
    }
    const delivery = receive(dependencies, job, lockToken!)
    return inSpan(delivery.span, async () => {
      const outcome = await work(delivery).catch((error: unknown) => failed(dependencies, delivery, error))
      return outcome === 'given-back' ? giveBack(job, delivery.token, GIVEN_BACK_FOR_MS) : outcome
    })
  }

const receive = ({ tracing }: Dependencies, job: DeliveredJob, token: string): Delivery => {
  const parsed = v.safeParse(acceptedJob, job.data)
  // Nothing of ours queues such a job; it is left where operators see it.
  if (!parsed.success) throw hopeless('This is no job of this version.')
  const submission = parsed.output as SubmissionJob
  const attempts = job.attemptsMade + 1
  return { job, token, submission, attempts, span: tracing && beginSubmission(tracing, submission, attempts) }
}

/**
 * A submission that cannot be stored, or was tried often enough, is settled as dead: its job is done, and it lies in nobody's
 * way. Every other failure is thrown, so that the job is tried again.
 */
const failed = async (dependencies: Dependencies, delivery: Delivery, error: unknown): Promise<'dead'> => {
  const { job, submission, attempts, span } = delivery
  const { workspaceId, submissionId } = submission
  const fault = describeFault(error)
  span?.fail(fault)
  dependencies.log('error', 'job_failed', { queue: job.queueName, workspaceId, submissionId, attempts, fault })
  const isLast = isPermanentFault(error) || isHopeless(error) || attempts >= (job.opts.attempts ?? 1)
  if (!isLast) throw withoutCause(fault)
  const dead = { job: submission, attempts, reason: fault }
  await whenAvailable(() => settleAsDead(dependencies, dead), dependencies.stop)
  return 'dead'
}
