import type { Condition } from '../../health/condition.ts'
import type { RedisClient } from '../../queue/redis/connect-redis.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { type Finding, warning } from './finding.ts'

/** Another worker goes on within seconds after a lease has ended. */
const STUCK_MS = 15_000
const WORKSPACES_LOOKED_AT = 1_000

/** Findings about the leases of workspaces whose logs have submissions to apply. */
export const checkLeases = async (redis: RedisClient, prefix: string, { logs = [] }: Condition): Promise<Finding[]> => {
  const waiting = logs.filter(({ queued }) => queued > 0).slice(0, WORKSPACES_LOOKED_AT)
  const states = await Promise.all(
    waiting.map(({ workspaceId }) => redis.hmget(workspaceKeys(prefix, workspaceId).state, 'holder', 'until', 'alone')),
  )
  const endedBefore = Date.now() - STUCK_MS
  const stuck = states.filter(([holder, until]) => holder != null && Number(until) < endedBefore)
  const inQuarantine = states.filter(([, , alone]) => Number(alone ?? 0) > 0)
  return [
    ...(stuck.length === 0
      ? []
      : [
          warning(
            `In ${stuck.length} workspaces a worker ended while it applied submissions, and none has gone on.`,
            'Look whether a worker runs that serves wake and backlog, and at the log of the worker that ended.',
          ),
        ]),
    ...(inQuarantine.length === 0
      ? []
      : [
          warning(
            `In ${inQuarantine.length} workspaces a submission is suspected of ending workers. It is applied in quarantine.`,
            'Look why workers ended. A submission that ends several workers by itself becomes dead: npm run dead -- list',
          ),
        ]),
  ]
}
