import type { Queue } from 'bullmq'
import { v7 as newId } from 'uuid'
import * as v from 'valibot'
import { admissionsIn } from '../../../queue/admit.ts'
import { JOB_VERSION, type Operation, submissionJob } from '../../../contract/job.ts'
import { sayingsOf } from '../../../contract/identity/sayings.ts'
import type { Said } from '../../../queue/admission.ts'
import { handingOverIn } from '../../../queue/hand-over.ts'
import type { Installation } from './installation.ts'

const AT_ONCE = 500

export type Filling = {
  readonly from: number
  readonly count: number
  readonly bodyOf: (index: number) => object
}

/** Admits and queues submissions as an API process does, many at once, and returns the bytes of their bodies together. */
export const fillQueue = async (
  { redis, prefix, workspaceId, hashKey, queues }: Installation,
  operation: Exclude<Operation, 'purge_contact'>,
  filling: Filling,
): Promise<number> => {
  const handOver = handingOverIn({ redis, prefix, queues })
  const admit = admissionsIn({ redis, prefix, handOver, findStoredKey: async () => null })
  return inChunks(filling, async (bodies) => {
    const drafts = bodies.map((body) =>
      v.parse(submissionJob, { version: JOB_VERSION, operation, workspaceId, submissionId: newId(), number: 1, body }),
    )
    await Promise.all(
      drafts.map(async (draft) => {
        const saidBy = (submissionId: string): Said => ({
          sayings: sayingsOf({ hashKey, workspaceId }, { ...draft, submissionId }),
          lookUp: [],
        })
        const admission = await admit({ workspaceId, operation, bodyText: JSON.stringify(draft.body), saidBy })
        if (admission.outcome !== 'admitted') throw new Error(`Not admitted: ${admission.outcome}`)
      }),
    )
  })
}

/** The same for a queue that knows no admission. */
export const fillPlainQueue = (queue: Queue, filling: Filling): Promise<number> => {
  return inChunks(filling, async (bodies) => {
    await queue.addBulk(
      bodies.map((data) => ({ name: 'feedback', data, opts: { jobId: newId(), removeOnComplete: 1_000 } })),
    )
  })
}

const inChunks = async (
  { from, count, bodyOf }: Filling,
  add: (bodies: readonly object[]) => Promise<void>,
): Promise<number> => {
  let bytes = 0
  for (let done = 0; done < count; done += AT_ONCE) {
    const bodies = Array.from({ length: Math.min(AT_ONCE, count - done) }, (_, place) => bodyOf(from + done + place))
    for (const body of bodies) bytes += JSON.stringify(body).length
    await add(bodies)
  }
  return bytes
}
