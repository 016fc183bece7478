import type { QueueName } from '../contract/jobs.ts'
import type { Wake } from '../queue/jobs/job-queues.ts'
import type { Logger } from '../runtime/logger.ts'
import type { WorkerStores } from './config.ts'
import type { JobDependencies, Processor } from './process-job.ts'
import type { FindMeaning } from './tagging/no-meaning.ts'

export type MaintenanceDependencies = WorkerStores & {
  wake: Wake
  redoMs: () => number
  receiptDays: number
  tombstoneDays: number
  log: Logger
}

/** A task of maintenance. `run` returns how much it has done, by kind. */
export type MaintenanceTask = {
  name: string
  everyMs: number
  run: (dependencies: MaintenanceDependencies) => Promise<Readonly<Record<string, number>>>
}

/** `allowedHosts`: hosts of webhooks that may have addresses outside the public internet. */
export type ProcessorDependencies = WorkerStores & JobDependencies & { allowedHosts: readonly string[] }

/** Work of a worker that other work does not need. */
export type WorkerCapability = {
  tasks?: readonly MaintenanceTask[]
  /** The processors of its queues. */
  createProcessors?: (dependencies: ProcessorDependencies) => Readonly<Partial<Record<QueueName, Processor>>>
  /** At most one capability finds the meaning of texts. */
  findMeaning?: FindMeaning
}
