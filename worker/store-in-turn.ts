import { type PurgeRows, type Rows, store } from '../db/store.ts'
import { describeFault, isPermanentFault } from '../process/fault.ts'
import { withinTime } from '../process/within-time.ts'
import { barrierIn } from '../queue/barrier.ts'
import { enqueueTagging } from '../queue/job-queues.ts'
import type { Delivery, InHand, StoreOutcome } from './delivery.ts'
import type { WorkerDependencies } from './dependencies.ts'
import { inTurn, type Placed, type Turn } from './in-turn.ts'
import { setAsideDead, settledOf, type Settling } from './settle.ts'
import { storeHalving } from './store-halving.ts'
import { type LearningPace, learningPace } from './tagging/learning-pace.ts'
import { taggingFor } from './tagging/tagging.ts'
import { tracedTagging } from './trace-jobs.ts'
import { whenAvailable } from './when-available.ts'

// A statement costs the worker, Redis and Postgres much the same however few it stores: gathering for 50 ms under load, and 20 ms
// before fetching, took the processor time of a submission to 291 µs, end to end; 20 ms and 5 ms took it to 310. So a second
// statement is begun only with enough for it. That statement waits in Postgres for the first, which then has
// nothing to wait for: of two processors 1.5 were busy while a backlog was drained, 1.65 with two statements.
const BOUNDS = {
  mostWeight: 500,
  waitMs: 5,
  busyFrom: 16,
  busyWaitMs: 50,
  enough: 250,
  parallel: 2,
  lookAgainAfterMs: 20,
  stuckAfterMs: 1_000,
  taken: 100,
}

type Item = Placed & Delivery
type Dependencies = WorkerDependencies & Settling
type StoreInTurn = Turn<Delivery, readonly StoreOutcome[]>

/**
 * Stores batches of all queues together and decides purges among them. What is stored is settled, but for purges, whose records are
 * still there.
 */
export const storingInTurn = (
  dependencies: Dependencies,
  take: (workspaceId: string, batchIds: readonly string[]) => void,
): StoreInTurn => {
  const concluding = { ...dependencies, pace: learningPace(Date.now) }
  const turn = inTurn<Item, readonly StoreOutcome[]>({
    readBarrier: barrierIn(dependencies.redis, dependencies.prefix),
    take,
    store: (items) => storeItems(dependencies, items),
    conclude: (items, outcomes) => conclude(concluding, items, outcomes),
    now: Date.now,
    bounds: BOUNDS,
  })
  return { ...turn, handIn: (delivery) => turn.handIn({ ...delivery, ...placeOf(delivery) }) }
}

const placeOf = ({ batch: { workspaceId, number }, inHand, isSuspect }: Delivery): Placed => ({
  workspaceId,
  number,
  isPurge: inHand.some(({ rows }) => isPurge(rows)),
  submissions: inHand.length,
  weight: inHand.reduce((sum, { rows }) => sum + weightOf(rows), 0),
  isSuspect,
})

const isPurge = (rows: Rows | PurgeRows): rows is PurgeRows => 'purge' in rows
const weightOf = (rows: Rows | PurgeRows): number => ('messages' in rows ? 1 + (rows.messages?.length ?? 0) : 1)

/** Returns what became of each submission of each item. */
const storeItems = async (dependencies: Dependencies, items: readonly Item[]): Promise<StoreOutcome[][]> => {
  const things = items
    .flatMap(({ inHand, attempts }) => inHand.map((one) => ({ ...one, attempts })))
    .toSorted((one, other) => one.submission.number - other.submission.number)
  for (const { span } of things) span?.set({ 'messaging.batch.message_count': things.length })
  const outcomes = await storeHalving<InHand & { attempts: number }, StoreOutcome>(things, {
    store: (some) => storeTogether(dependencies, some),
    isPermanent: isPermanentFault,
    setAside: async (one, error) => {
      const reason = describeFault(error)
      one.span?.fail(reason)
      await setAsideDead(dependencies, one, { attempts: one.attempts, reason })
      return 'dead'
    },
  })
  const outcomeOf = new Map(things.map(({ submission }, at) => [submission.submissionId, outcomes[at]!]))
  return items.map(({ inHand }) => inHand.map(({ submission }) => outcomeOf.get(submission.submissionId)!))
}

const storeTogether = async (
  { sql, answerWithinMs, stop }: Dependencies,
  inHand: readonly InHand[],
): Promise<StoreOutcome[]> => {
  const rows = inHand.map((one) => one.rows)
  const notApplied = await whenAvailable(() => withinTime(store(sql, rows), answerWithinMs), stop)
  const states = new Map(notApplied.map(({ id, state }) => [id, state]))
  return inHand.map((one) => (isPurge(one.rows) ? 'decided' : (states.get(one.submission.submissionId) ?? 'applied')))
}

/** After a crash between any two of these steps the batches are delivered again, and the steps are taken again. */
const conclude = async (
  { queues, books, tracing, hashKey, pace }: Dependencies & { pace: LearningPace },
  items: readonly Item[],
  outcomes: readonly (readonly StoreOutcome[])[],
): Promise<void> => {
  const stored = items.flatMap(({ inHand }, item) => inHand.filter((_, at) => outcomes[item]![at] !== 'dead'))
  const untagged = taggingFor(
    stored.flatMap(({ rows }) => ('submission' in rows ? [rows] : [])),
    pace,
  )
  await enqueueTagging(queues, tracing ? tracedTagging(untagged, stored) : untagged)
  const decided = items.filter((_, item) => outcomes[item]!.includes('decided'))
  const settled = items.filter((_, item) => !outcomes[item]!.includes('decided'))
  await books.settle(settled.map((item) => settledOf(hashKey, item)))
  await books.decide(decided.map((item) => settledOf(hashKey, item)))
}
