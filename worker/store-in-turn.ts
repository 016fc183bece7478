import { type Outstanding, type PurgeRows, type Rows, store, storeFree } from '../db/store.ts'
import { describeFault, isLockTimeout, isPermanentFault, isUnavailable } from '../process/fault.ts'
import { withinTime } from '../process/within-time.ts'
import { barrierIn, outstandingBesides } from '../queue/barrier.ts'
import { enqueueTagging } from '../queue/job-queues.ts'
import type { Delivery, InHand, StoredBatch, StoreOutcome } from './delivery.ts'
import type { WorkerDependencies } from './dependencies.ts'
import { inTurn, type Turn } from './in-turn.ts'
import type { OnLaneTime } from './lane-times.ts'
import type { Placed } from './lanes.ts'
import { setAsideDead, settledOf, type Settling } from './settle.ts'
import { storeHalving } from './store-halving.ts'
import { type LearningPace, learningPace } from './tagging/learning-pace.ts'
import { taggingFor } from './tagging/tagging.ts'
import { tracedTagging } from './trace-jobs.ts'
import { whenAvailable } from './when-available.ts'

// A statement costs the worker, Redis and Postgres much the same however few it stores: gathering for 50 ms under load, and 20 ms
// before fetching, took the processor time of a submission to 291 µs, end to end; 20 ms and 5 ms took it to 310. So a second
// statement is begun only with enough for it.
const BOUNDS = {
  lanes: 3,
  mostWeight: 500,
  budgetMs: 250,
  waitMs: 5,
  busyFrom: 16,
  busyWaitMs: 50,
  enough: 250,
  least: { submissions: 8, weight: 2_000 },
  lookAgainAfterMs: 20,
  lookAgainWithinMs: 320,
  stuckAfterMs: 1_000,
  taken: 100,
}

/** A body of so many bytes weighs as much as a row. Postgres stores a plain feedback, of some 700 bytes, in 0.15 ms. */
const BYTES_LIKE_A_ROW = 2_000

type Item = Placed & Delivery
type Dependencies = WorkerDependencies & Settling & { onLaneTime: OnLaneTime }
/** `isStored`: whether this worker has stored a batch that the books still have. */
type Storing = Dependencies & { isStored: (batchId: string) => boolean }
type StoreInTurn = Turn<Delivery, StoredBatch>

/**
 * Stores batches of all queues together and decides purges among them. What is stored is settled, but for purges, whose records are
 * still there.
 */
export const storingInTurn = (
  dependencies: Dependencies,
  take: (workspaceId: string, batchIds: readonly string[]) => void,
): StoreInTurn => {
  const concluding = { ...dependencies, pace: learningPace(() => performance.now()) }
  const stored = new Set<string>()
  const storing = { ...dependencies, isStored: (batchId: string) => stored.has(batchId) }
  const turn = inTurn<Item, StoredBatch>({
    readBarrier: barrierIn(dependencies.redis, dependencies.prefix),
    take,
    store: async (items, mayWait) => {
      const results = await storeItems(storing, items, mayWait)
      for (const [at, { batch }] of items.entries()) if (isDone(results[at]!)) stored.add(batch.batchId)
      return results
    },
    conclude: (items, results) =>
      conclude(concluding, items, results).finally(() => items.forEach(({ batch }) => stored.delete(batch.batchId))),
    isFailure: (result) => !isDone(result),
    onLaneTime: dependencies.onLaneTime,
    now: () => performance.now(),
    bounds: BOUNDS,
  })
  return { ...turn, handIn: (delivery) => turn.handIn({ ...delivery, ...placeOf(delivery) }) }
}

const placeOf = ({
  batch: { workspaceId, number, isAfterPurge },
  bytes,
  inHand,
  isBacklog,
  isSuspect,
}: Delivery): Placed => ({
  workspaceId,
  number,
  isPurge: inHand.some(({ rows }) => isPurge(rows)),
  isAfterPurge,
  submissions: inHand.length,
  weight: Math.max(
    bytes / BYTES_LIKE_A_ROW,
    inHand.reduce((sum, { rows }) => sum + rowsOf(rows), 0),
  ),
  isBacklog,
  isSuspect,
})

const isDone = (result: StoredBatch | 'busy'): boolean => result !== 'busy' && 'outcomes' in result

const isPurge = (rows: Rows | PurgeRows): rows is PurgeRows => 'purge' in rows
const rowsOf = (rows: Rows | PurgeRows): number => ('messages' in rows ? 1 + (rows.messages?.length ?? 0) : 1)

/** A submission that could not be stored, and that another attempt may store. */
type Failed = { fault: unknown }

const storeItems = async (
  dependencies: Storing,
  items: readonly Item[],
  mayWait: boolean,
): Promise<(StoredBatch | 'busy')[]> => {
  const things = items
    .flatMap(({ inHand, attempts }) => inHand.map((one) => ({ ...one, attempts })))
    .toSorted((one, other) => one.submission.number - other.submission.number)
  for (const { span } of things) span?.set({ 'messaging.batch.message_count': things.length })
  const heldUp = new Set<string>()
  const outcomes = await storeHalving<InHand & { attempts: number }, StoreOutcome | Failed | 'busy'>(things, {
    store: (some) => storeTogether(dependencies, some, mayWait),
    isOver: (error) => dependencies.stop.aborted && isUnavailable(error),
    alone: async (one, error) => {
      if (!isPermanentFault(error)) {
        heldUp.add(one.submission.workspaceId)
        return { fault: error }
      }
      const reason = describeFault(error)
      one.span?.fail(reason)
      await setAsideDead(dependencies, one, { attempts: one.attempts, reason })
      return 'dead'
    },
    // What comes after something that is to be tried again may be a purge, or stand behind one: it is looked at anew.
    leftOut: ({ submission }) => (heldUp.has(submission.workspaceId) ? 'busy' : undefined),
  })
  const outcomeOf = new Map(things.map(({ submission }, at) => [submission.submissionId, outcomes[at]!]))
  return items.map(({ inHand }) => {
    const own = inHand.map(({ submission }) => outcomeOf.get(submission.submissionId)!)
    const notStored = own.find((outcome) => outcome === 'busy' || typeof outcome === 'object')
    return notStored ?? { outcomes: own as StoreOutcome[] }
  })
}

const storeTogether = async (
  { sql, answerWithinMs, stop, ...reading }: Storing,
  inHand: readonly InHand[],
  mayWait: boolean,
): Promise<(StoreOutcome | 'busy')[]> => {
  const rows = inHand.map((one) => one.rows)
  const outstanding = await readOutstanding(reading, inHand)
  const attempt = () => (mayWait ? storeWaiting(sql, rows, outstanding) : storeFree(sql, rows, outstanding))
  const { busy, notApplied } = await whenAvailable(() => withinTime(attempt(), answerWithinMs), stop)
  const states = new Map(notApplied.map(({ id, state }) => [id, state]))
  return inHand.map(({ rows: own, submission: { submissionId } }) => {
    if (busy.includes(own.workspaceId)) return 'busy'
    return isPurge(own) ? 'decided' : (states.get(submissionId) ?? 'applied')
  })
}

/** When it has waited for too long, its workspaces are busy as well. */
const storeWaiting = async (
  ...[sql, rows, outstanding]: Parameters<typeof storeFree>
): ReturnType<typeof storeFree> => {
  try {
    return { busy: [], notApplied: await store(sql, rows, outstanding) }
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    return { busy: rows.map(({ workspaceId }) => workspaceId), notApplied: [] }
  }
}

/**
 * What else may come before these: only for workspaces of which something may say again what was said before. Redis is not asked about a
 * lone batch, as with many workspaces each mostly is.
 */
const readOutstanding = async (
  { redis, prefix, isStored }: Pick<Storing, 'redis' | 'prefix' | 'isStored'>,
  inHand: readonly InHand[],
): Promise<Outstanding> => {
  const read = outstandingBesides(redis, prefix, isStored)
  const ofWorkspaces = [...Map.groupBy(inHand, ({ rows }) => rows.workspaceId)].filter(([, own]) =>
    own.some(({ rows }) => canRepeat(rows)),
  )
  const found = await Promise.all(
    ofWorkspaces.map(async ([workspaceId, own]) => {
      if (own.every(({ isLone }) => isLone)) return [workspaceId, []] as const
      const submissions = own.map(({ submission }) => submission)
      return [workspaceId, await read(workspaceId, submissions)] as const
    }),
  )
  return new Map(found.filter((one): one is [string, number[]] => one[1] !== undefined))
}

const canRepeat = (rows: Rows | PurgeRows): boolean =>
  'submission' in rows && ((rows.claims?.length ?? 0) > 0 || rows.feedback?.source_id != null)

/** After a crash between any two of these steps the batches are delivered again, and the steps are taken again. */
const conclude = async (
  { queues, books, tracing, hashKey, pace }: Dependencies & { pace: LearningPace },
  items: readonly Item[],
  results: readonly StoredBatch[],
): Promise<void> => {
  const ended = items.flatMap((item, at) => {
    const result = results[at]!
    return 'fault' in result ? [] : [{ item, outcomes: result.outcomes }]
  })
  const stored = ended.flatMap(({ item, outcomes }) => item.inHand.filter((_, at) => outcomes[at] !== 'dead'))
  const untagged = taggingFor(
    stored.flatMap(({ rows }) => ('submission' in rows ? [rows] : [])),
    pace,
  )
  await enqueueTagging(queues, tracing ? tracedTagging(untagged, stored) : untagged)
  const [settled, decided] = [false, true].map((isDecided) =>
    ended.flatMap(({ item, outcomes }) =>
      outcomes.includes('decided') === isDecided ? [settledOf(hashKey, item)] : [],
    ),
  )
  await books.settle(settled!)
  await books.decide(decided!)
}
