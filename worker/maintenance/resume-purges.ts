import { listPurgesUnderWay } from '../../db/purges/purges-under-way.ts'
import { addRemovals } from '../../queue/jobs/job-queues.ts'
import type { Service } from './service.ts'

/** An older removal may have lost its job or failed for good. A second job is harmless. */
const OLDER_THAN_MS = 60_000

/** Adds jobs again for decided purges whose records are still being removed. */
export const resumePurges: Service = {
  name: 'resume-purges',
  everyMs: 20_000,
  run: async ({ sql, queues }) => {
    const removals = await listPurgesUnderWay(sql, { olderThanMs: OLDER_THAN_MS })
    await addRemovals(queues, removals)
    return { purgesResumed: removals.length }
  },
}
