import { setImmediate as turnOfLoop } from 'node:timers/promises'
import * as v from 'valibot'
import { backlogJob } from '../contract/job.ts'
import { describeFault } from '../process/fault.ts'
import { type BacklogBatch, readBacklog } from '../queue/backlog.ts'
import { hopeless } from '../queue/delivered-job.ts'
import { describeBatch } from '../queue/outbox.ts'
import type { LifeDependencies, LiveBatch } from './batch-life.ts'
import type { Processor } from './delivery.ts'
import { handOverAll } from './hand-over-each.ts'
import { SUSPECT_AFTER_DEATHS } from './suspects.ts'

/** How long a job drains before it goes behind those of other workspaces, if there are any. */
const SHARE_MS = 250
/**
 * What a job has in hand at most: batches to be read and stored while others are. Two statements store less than these, unless bodies
 * are large: then as much as one statement of a slow workspace stores at least.
 */
const MOST_BATCHES = 50
const MOST_BYTES = 4_000_000

/**
 * What a worker does with a job of the queue `backlogs`: it stores a share of what its workspace has waiting, in the order of acceptance. A
 * batch that cannot be stored gets a job of its own, so that what follows goes on.
 * When it ends it is to be added again if something is left.
 */
export const backlogProcessor =
  (dependencies: LifeDependencies, live: LiveBatch): Processor =>
  async (job) => {
    const parsed = v.safeParse(backlogJob, job.data)
    // Nothing of ours queues such a job; it is left where operators see it.
    if (!parsed.success) throw hopeless('This is no job of this version.')
    const { workspaceId } = parsed.output
    if (job.stalledCounter >= SUSPECT_AFTER_DEATHS) {
      await handOverAll(dependencies, await firstOf(dependencies, workspaceId, new Set()))
    } else await drain(dependencies, live, workspaceId)
    return 'done'
  }

const firstOf = (
  { redis, prefix }: LifeDependencies,
  workspaceId: string,
  inHand: ReadonlySet<string>,
): Promise<BacklogBatch[]> => readBacklog(redis, prefix, { workspaceId, most: MOST_BATCHES, inHand })

const drain = async (dependencies: LifeDependencies, live: LiveBatch, workspaceId: string): Promise<void> => {
  let until = performance.now() + SHARE_MS
  const inHand = new Map<string, { bytes: number; ended: Promise<void> }>()
  while (performance.now() < until) {
    let bytes = [...inHand.values()].reduce((sum, held) => sum + held.bytes, 0)
    for (const named of await firstOf(dependencies, workspaceId, new Set(inHand.keys()))) {
      bytes += named.bytes
      if (inHand.size > 0 && bytes > MOST_BYTES) break
      const ended = liveInBacklog(dependencies, live, named).finally(() => inHand.delete(named.batchId))
      inHand.set(named.batchId, { bytes: named.bytes, ended })
    }
    if (inHand.size === 0) return
    await Promise.race([...inHand.values()].map(({ ended }) => ended))
    // Those that were stored together end together.
    await turnOfLoop()
    if (performance.now() >= until && (await isAlone(dependencies))) until = performance.now() + SHARE_MS
  }
  await Promise.all([...inHand.values()].map(({ ended }) => ended))
}

/** To end would mean to store nothing until the next job begins. But an operator who pauses the queue means the jobs at work as well. */
const isAlone = async ({ queues: { backlogs }, stop }: LifeDependencies): Promise<boolean> =>
  !stop.aborted && (await backlogs.getWaitingCount()) === 0 && !(await backlogs.isPaused())

const liveInBacklog = async (dependencies: LifeDependencies, live: LiveBatch, named: BacklogBatch): Promise<void> => {
  const { workspaceId, batchId } = named
  try {
    await live({ named, attempts: 1, isBacklog: true, isSuspect: false, onProgress: async () => {} })
  } catch (error) {
    dependencies.log('error', 'backlog_batch_failed', { workspaceId, batchId, fault: describeFault(error) })
    const described = await describeBatch(dependencies, named)
    if (described) await dependencies.handOver(described.queue, { ...described.batch, apart: {} })
  }
}
