import { setTimeout as pause } from 'node:timers/promises'
import { type BatchJob, JOB_VERSION, type NamedBatch, type Operation } from '../contract/job.ts'
import { BATCH_QUEUES, type BatchQueueName, JOB_OPTIONS } from '../contract/queues.ts'
import { coalesce } from '../process/coalesce.ts'
import { drainBacklogs } from './backlog.ts'
import type { RedisClient } from './connect-redis.ts'
import { type JobQueues, livingAmong } from './job-queues.ts'
import { admissionKeys, carrierValue } from './keys.ts'
import { luaScript } from './lua-script.ts'

/** A batch for a job, with what it carries. */
export type HandedBatch = Omit<NamedBatch, 'submissions'> & { operations: readonly Operation[] }
/** `apart`: in a job of its own, at once or later. `isBacklog`: it lies in the backlog, which one job drains. */
type Handing = HandedBatch & { apart?: { delayMs?: number }; isBacklog?: boolean }

/** Never rejects: a batch that could not be handed over stays in the outbox, and a worker hands it over within seconds. */
export type HandOver = (queue: BatchQueueName, batch: Handing) => Promise<void>

export const NOTE_CARRIER = luaScript('note-carrier')
const KEYS_OF_NOTE_CARRIER = 5
type RedisWithNoteCarrier = RedisClient & { noteCarrier(...keysAndArguments: string[]): Promise<0> }

/** What one job carries at most: a worker has this in hand at once, and holds it all until the last of it is stored. */
export const MOST_SUBMISSIONS_OF_A_JOB = 250
const MOST_BYTES_OF_A_JOB = 1_000_000
const WEIGHT_OF_A_JOB = {
  most: 1,
  of: ({ operations, bytes }: Handing): number =>
    operations.length / MOST_SUBMISSIONS_OF_A_JOB + bytes / MOST_BYTES_OF_A_JOB,
}
const BATCHES_OF_A_JOB = 50
/**
 * So often there is a job at most, unless it is full: a job costs the API, the worker and Redis much the same however few it carries. The
 * first that comes goes at once.
 */
const JOB_EVERY_MS = 15
const BACKLOGS_AT_ONCE = 1_000

/**
 * So often it is noted which batches jobs carry that have not ended. Mostly a job has, and its batches are off the books: a note costs a call
 * for each workspace, with a thousand of them a tenth of what accepting a submission takes. Until then a batch stays in the outbox.
 */
const NOTED_EVERY_MS = 2_000

type HandingOver = {
  redis: RedisClient
  prefix: string
  queues: JobQueues
  notedEveryMs?: number
  /** What is not noted yet is noted at once. */
  stop?: AbortSignal
}

/**
 * Has jobs carry batches: those that come within a few milliseconds share a job, whatever their workspaces. Doing it twice is
 * harmless, since a job whose batch is gone is done.
 */
export const handingOverIn = (handing: HandingOver): HandOver => {
  const { redis, queues } = handing
  redis.defineCommand('noteCarrier', { lua: NOTE_CARRIER, numberOfKeys: KEYS_OF_NOTE_CARRIER })
  const noteLater = notingLater(handing)
  const together = Object.fromEntries(
    BATCH_QUEUES.map((queue) => [
      queue,
      coalesce<Handing, Promise<void>>((batches) => carry({ queues, noteLater }, queue, batches), {
        items: BATCHES_OF_A_JOB,
        weight: WEIGHT_OF_A_JOB,
        everyMs: JOB_EVERY_MS,
      }),
    ]),
  ) as Record<BatchQueueName, (batch: Handing) => Promise<Promise<void>>>
  const drain = coalesce<string, void>(
    async (workspaceIds) => {
      await drainBacklogs(queues, [...new Set(workspaceIds)])
      return []
    },
    { items: BACKLOGS_AT_ONCE, everyMs: JOB_EVERY_MS },
  )
  return (queue, batch) => {
    const handed =
      batch.apart !== undefined
        ? carryApart(handing, queue, batch)
        : batch.isBacklog === true
          ? drain(batch.workspaceId)
          : together[queue](batch).then((noted) => noted)
    return handed.catch(() => {})
  }
}

/** A batch with the job that carries it. */
type Carried = { workspaceId: string; batchId: string; carrier: string }
type Noting = (carried: readonly Carried[]) => Promise<void>

/** Each batch hears when it is noted, or need not be; the next job does not wait for that. */
const carry = async (
  { queues, noteLater }: { queues: JobQueues; noteLater: Noting },
  queue: BatchQueueName,
  batches: readonly Handing[],
): Promise<Promise<void>[]> => {
  const noted = noteLater(await addJob(queues, queue, { batches }))
  noted.catch(() => {})
  return batches.map(() => noted)
}

const carryApart = async (handing: HandingOver, queue: BatchQueueName, batch: Handing): Promise<void> =>
  note(handing, await addJob(handing.queues, queue, { batches: [batch], delay: batch.apart?.delayMs ?? 0 }))

const addJob = async (
  queues: JobQueues,
  queue: BatchQueueName,
  { batches, delay = 0 }: { batches: readonly Handing[]; delay?: number },
): Promise<Carried[]> => {
  const job: BatchJob = { version: JOB_VERSION, batches: batches.map(named) }
  const { id } = await queues[queue].add(describe(batches), job, { ...JOB_OPTIONS, delay })
  return batches.map(({ workspaceId, batchId }) => ({ workspaceId, batchId, carrier: carrierValue(queue, id!) }))
}

/** Gathers for a while what is to be noted; what waits for long is then noted with all else of its workspace. */
const notingLater = (handing: HandingOver): Noting => {
  const { queues, notedEveryMs = NOTED_EVERY_MS, stop } = handing
  let gathered: Carried[] = []
  let round: Promise<void> | undefined
  const noteGathered = async (): Promise<void> => {
    // It ends early with the signal, which is no fault.
    await pause(notedEveryMs, undefined, stop && { signal: stop }).catch(() => {})
    const taken = gathered
    gathered = []
    round = undefined
    const living = await livingAmong(queues, new Set(taken.map(({ carrier }) => carrier)))
    await note(
      handing,
      taken.filter(({ carrier }) => living.has(carrier)),
    )
  }
  return (carried) => {
    gathered.push(...carried)
    round ??= noteGathered()
    return round
  }
}

const note = async ({ redis, prefix }: HandingOver, carried: readonly Carried[]): Promise<void> => {
  const told = [...Map.groupBy(carried, ({ workspaceId }) => workspaceId)].map(([workspaceId, own]) => {
    const { outbox, outstanding, removing, carriers, backlog } = admissionKeys(prefix, workspaceId)
    const keys = [outbox, outstanding, removing, carriers, backlog]
    const jobs = own.flatMap(({ batchId, carrier }) => [batchId, carrier])
    return (redis as RedisWithNoteCarrier).noteCarrier(...keys, ...jobs)
  })
  await Promise.all(told)
}

/** `ended`: when all that is under way has come to its end. What a process that ends did not hand over waits for seconds. */
export const watchHandOvers = (handOver: HandOver): { handOver: HandOver; ended: () => Promise<unknown> } => {
  const underWay = new Set<Promise<void>>()
  return {
    handOver: (queue, batch) => {
      const handed = handOver(queue, batch).finally(() => underWay.delete(handed))
      underWay.add(handed)
      return handed
    },
    ended: () => Promise.all(underWay),
  }
}

const named = ({ workspaceId, batchId, operations, bytes, follows }: Handing): NamedBatch => ({
  workspaceId,
  batchId,
  submissions: operations.length,
  bytes,
  ...(follows !== undefined && { follows }),
})

/** The name of a job: how many submissions of each operation it carries. */
const describe = (batches: readonly Handing[]): string =>
  [
    ...Map.groupBy(
      batches.flatMap(({ operations }) => operations),
      (operation) => operation,
    ),
  ]
    .map(([operation, all]) => `${all.length} ${operation}`)
    .join(', ')
