import type { Logger } from '../../runtime/logger.ts'
import type { Wake } from '../../queue/jobs/wake.ts'
import type { WorkerStores } from '../dependencies.ts'

export type MaintenanceDependencies = WorkerStores & {
  wake: Wake
  redoMs: () => number
  receiptDays: number
  tombstoneDays: number
  log: Logger
}

/** A task of maintenance. `run` returns its counts, by kind. */
export type Service = {
  name: string
  everyMs: number
  run: (dependencies: MaintenanceDependencies) => Promise<Readonly<Record<string, number>>>
}
