import { describeFault } from '../../runtime/fault.ts'
import { takeTurn } from '../../queue/jobs/take-turn.ts'
import { finishReplays } from './finish-replays.ts'
import { forgetDeletedWorkspaces } from './forget-deleted-workspaces.ts'
import { expireOldReceipts } from './expire-receipts.ts'
import { expireOldTombstones } from './expire-tombstones.ts'
import { resumePurges } from './resume-purges.ts'
import type { MaintenanceDependencies, Service } from './service.ts'
import { sweepAllLogs } from './sweep-logs.ts'
import { trimKeys } from './trim-keys.ts'
import { wakeWebhooks } from './wake-webhooks.ts'

const SERVICES: readonly Service[] = [
  sweepAllLogs,
  resumePurges,
  finishReplays,
  forgetDeletedWorkspaces,
  expireOldReceipts,
  expireOldTombstones,
  trimKeys,
  wakeWebhooks,
]

/**
 * Runs the services until it is stopped. Workers take turns, since a service looks at all
 * workspaces. Several runs at once are harmless.
 */
export const startMaintenance = (dependencies: MaintenanceDependencies): { stop: () => void } => {
  const timers = SERVICES.map((service) => repeat(service, dependencies))
  return { stop: () => timers.forEach(clearInterval) }
}

/** A bit less than the time between two runs, so that a lone worker gets every turn. */
const TURN_SHARE = 0.9

const repeat = (
  { name, everyMs, run }: Service,
  dependencies: MaintenanceDependencies,
): ReturnType<typeof setInterval> => {
  const { redis, prefix, log } = dependencies
  let isBusy = false
  const once = async (): Promise<void> => {
    if (isBusy) return
    isBusy = true
    try {
      if (!(await takeTurn(redis, prefix, { name, periodMs: Math.floor(TURN_SHARE * everyMs) }))) return
      const done = await run(dependencies)
      if (Object.values(done).some((count) => count > 0)) log('info', 'maintenance', { service: name, ...done })
    } catch (error) {
      log('warn', 'maintenance_failed', { service: name, fault: describeFault(error) })
    } finally {
      isBusy = false
    }
  }
  void once()
  return setInterval(() => void once(), everyMs)
}
