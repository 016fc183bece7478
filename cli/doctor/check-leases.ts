import type { Condition } from '../../health/condition.ts'
import type { RedisClient } from '../../queue/redis/connect-redis.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { type Finding, warning } from './finding.ts'

/** Another worker continues within seconds after a lease has ended. */
const STUCK_MS = 15_000
const WORKSPACES_LOOKED_AT = 1_000

/** Findings about the leases of workspaces whose logs have submissions to apply. */
export const checkLeases = async (redis: RedisClient, prefix: string, { logs = [] }: Condition): Promise<Finding[]> => {
  const waiting = logs.filter(({ queued }) => queued > 0).slice(0, WORKSPACES_LOOKED_AT)
  const states = await Promise.all(
    waiting.map(({ workspaceId }) =>
      redis.hmget(workspaceKeys(prefix, workspaceId).state, 'holder', 'until', 'deaths'),
    ),
  )
  const endedBefore = Date.now() - STUCK_MS
  const stuck = states.filter(([holder, until]) => holder != null && Number(until) < endedBefore)
  const inQuarantine = states.filter(([, , deaths]) => Number(deaths ?? 0) > 0)
  return [
    ...(stuck.length === 0
      ? []
      : [
          warning(
            `In ${stuck.length} workspaces a worker ended while it applied submissions, and no worker has continued.`,
            'Check that a worker runs that serves the queues wake and backlog, and read the log of the worker that ended.',
          ),
        ]),
    ...(inQuarantine.length === 0
      ? []
      : [
          warning(
            `In ${inQuarantine.length} workspaces a submission is suspected of ending workers. It is applied in quarantine.`,
            'Read the logs of the workers that ended. A submission that alone ends several workers becomes dead: npm run dead -- list',
          ),
        ]),
  ]
}
