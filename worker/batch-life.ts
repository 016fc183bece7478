import type { NamedBatch } from '../contract/job.ts'
import type { BatchQueueName } from '../contract/queues.ts'
import type { PurgeRows, Rows } from '../db/store.ts'
import { describeFault } from '../process/fault.ts'
import type { Batch, Batched } from '../queue/batch.ts'
import type { BatchInTurn } from '../queue/books.ts'
import type { HandOver } from '../queue/hand-over.ts'
import { describeBatch } from '../queue/outbox.ts'
import type { Delivery, InHand, Outcome, StoreOutcome } from './delivery.ts'
import type { WorkerDependencies } from './dependencies.ts'
import type { OnLaneTime } from './lane-times.ts'
import { finishPurge, purgeRowsOf } from './purge.ts'
import { rowsOf } from './rows/rows.ts'
import { idempotencyRow, settleAsDead, settledOf, type Settling } from './settle.ts'
import { storingInTurn } from './store-in-turn.ts'
import { handOverEach } from './hand-over-each.ts'
import { type Company, companyOf, MOST_DEATHS_ALONE } from './suspects.ts'
import { beginSubmission, endSubmissions } from './trace-jobs.ts'

const GIVEN_BACK_FOR_MS = 250

export type LifeDependencies = WorkerDependencies &
  Settling & {
    handOver: HandOver
    onLaneTime: OnLaneTime
    /** Whether this worker takes batches of a queue at this moment. */
    serves: (queue: BatchQueueName) => Promise<boolean>
  }

/** How a batch came into this worker's hands. */
export type Coming = {
  named: Omit<NamedBatch, 'submissions'>
  attempts: number
  /** It comes from the backlog of its workspace. */
  isBacklog: boolean
  isSuspect: boolean
  /** Hears how many records a purge has removed so far. */
  onProgress: (removed: number) => Promise<void>
}

/** Leads a batch from the books to Postgres and off the books again. @throws when it has to be tried again. */
export type LiveBatch = (coming: Coming) => Promise<void>

/**
 * The life of a batch in a worker: it is read, stored in its turn, and settled; or it is given back, or thrown to be tried again. A batch
 * that is gone was settled before. One that comes while it is in hand already is waited for.
 */
export const batchLives = (dependencies: LifeDependencies): LiveBatch => {
  const lives = new Map<string, Promise<void>>()
  const take = async (workspaceId: string, batchId: string): Promise<void> => {
    const named = { workspaceId, batchId }
    const described = await describeBatch(dependencies, named)
    if (described === undefined || !(await dependencies.serves(described.queue))) return
    // What a worker may just have died of in its own job is not taken in among what this worker holds.
    const isSuspect = await dependencies.books.wasAlone(named)
    const { bytes } = described.batch
    await live({ named: { ...named, bytes }, attempts: 1, isBacklog: false, isSuspect, onProgress: async () => {} })
  }
  const turn = storingInTurn(dependencies, (workspaceId, batchIds) => {
    for (const batchId of batchIds) {
      take(workspaceId, batchId).catch((error: unknown) => {
        // The job that carries the batch tries again.
        dependencies.log('warn', 'taken_batch_failed', { workspaceId, batchId, fault: describeFault(error) })
      })
    }
  })
  const life = { ...dependencies, turn, company: companyOf(turn) }
  const live: LiveBatch = (coming) => {
    const { batchId } = coming.named
    const inHand = lives.get(batchId)
    if (inHand) return inHand
    const ended = liveOnce(life, coming).finally(() => lives.delete(batchId))
    lives.set(batchId, ended)
    return ended
  }
  return live
}

type Life = LifeDependencies & { turn: ReturnType<typeof storingInTurn>; company: Company }

const liveOnce = async (life: Life, coming: Coming): Promise<void> => {
  const stored = coming.isSuspect
    ? await life.company.alone(() => storeSuspect(life, coming))
    : await life.company.among(() => storeBatch(life, coming))
  if (stored === undefined) return
  const { delivery, outcomes } = stored
  const ended = await endPurges(life, stored, coming.onProgress).finally(() =>
    endSubmissions(delivery.inHand, outcomes),
  )
  delivery.inHand.forEach(({ submission }, at) => life.onSettled(submission, ended[at]!, delivery.attempts))
}

type Stored = { delivery: Delivery; outcomes: readonly StoreOutcome[] }

/** Undefined when the batch is gone, or given back: then a job of its own carries it in a moment. */
const storeBatch = async (life: Life, coming: Coming): Promise<Stored | undefined> => {
  const batch = await life.books.read(coming.named)
  if (batch === undefined) return undefined
  const delivery = receive(life, coming, batch)
  try {
    const stored = await life.turn.handIn(delivery)
    if (stored === 'given-back') await giveBack(life, batch, coming.named.bytes)
    else if ('outcomes' in stored) return { delivery, outcomes: stored.outcomes }
    else if (batch.submissions.length === 1) throw stored.fault
    // What failed did so by itself: from now on it is alone, and its faults are its own.
    else await handOverEach(life, batch)
    endSubmissions(delivery.inHand)
    return undefined
  } catch (error) {
    for (const { span } of delivery.inHand) span?.fail(describeFault(error))
    endSubmissions(delivery.inHand)
    throw error
  }
}

/** Only deaths of workers that had nothing else in hand count against a submission. */
const storeSuspect = async (life: Life, coming: Coming): Promise<Stored | undefined> => {
  const times = await life.books.noteAlone(coming.named)
  if (times <= MOST_DEATHS_ALONE) {
    try {
      return await storeBatch(life, coming)
    } finally {
      // A fault is no death: the attempts of the job count it.
      await life.books.noteSurvived(coming.named)
    }
  }
  const batch = await life.books.read(coming.named)
  if (batch !== undefined) await settleAsDead(life, batch, { attempts: coming.attempts, reason: 'GivenUp stalled' })
  return undefined
}

const receive = (
  { hashKey, tracing }: Life,
  { named: { bytes }, attempts, isBacklog, isSuspect }: Coming,
  batch: BatchInTurn,
): Delivery => ({
  batch,
  attempts,
  bytes,
  isBacklog,
  isSuspect,
  inHand: batch.submissions.map((batched): InHand => {
    const span = tracing && beginSubmission(tracing, batched.submission, attempts)
    return { ...batched, rows: rowsIn(hashKey, batched, attempts), span, isLone: batch.isLone }
  }),
})

const rowsIn = (hashKey: Life['hashKey'], batched: Batched, attempts: number): Rows | PurgeRows => {
  const { submission } = batched
  if (submission.operation === 'purge_contact') return purgeRowsOf(hashKey, submission)
  const rows = rowsOf(hashKey, submission, attempts)
  const idempotency = idempotencyRow(hashKey, batched, rows)
  return idempotency ? { ...rows, idempotency } : rows
}

const giveBack = (
  { handOver }: Life,
  { workspaceId, batchId, queue, submissions }: Batch,
  bytes: number,
): Promise<void> => {
  const operations = submissions.map(({ submission }) => submission.operation)
  return handOver(queue, { workspaceId, batchId, operations, bytes, apart: { delayMs: GIVEN_BACK_FOR_MS } })
}

/** The decided purges of a batch are carried out, while others are stored. */
const endPurges = async (
  life: Life,
  { delivery, outcomes }: Stored,
  onProgress: Coming['onProgress'],
): Promise<Outcome[]> => {
  const ended: Outcome[] = []
  for (const [at, { submission, idempotency }] of delivery.inHand.entries()) {
    if (submission.operation === 'purge_contact' && outcomes[at] === 'decided') {
      ended.push(await finishPurge(life, { job: submission, idempotency, attempts: delivery.attempts, onProgress }))
      await life.books.settle([settledOf(life.hashKey, delivery)])
    } else ended.push(outcomes[at]!)
  }
  return ended
}
