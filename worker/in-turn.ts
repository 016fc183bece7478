import { type Barrier, readyNow } from '../queue/barrier.ts'
import type { OnLaneTime } from './lane-times.ts'
import { type Lane, type LaneBounds, nextStatement, type Placed, type Statement } from './lanes.ts'
import { type Strides, stridesWithin } from './strides.ts'

type Bounds = LaneBounds & {
  /** What a workspace may take of a lane before its statements become smaller. */
  budgetMs: number
  /** Batches that have to wait for a purge are looked at again after this time, and after twice the time each time, up to the longest. */
  lookAgainAfterMs: number
  lookAgainWithinMs: number
  /** When nothing of a workspace could be stored for so long, missing batches are taken, at most so many. */
  stuckAfterMs: number
  taken: number
}

type InTurn<Item, Out> = {
  readBarrier: (workspaceId: string) => Promise<Barrier>
  /** Has this worker take batches of a workspace that others have, or that still wait: what it holds waits for them. */
  take: (workspaceId: string, batchIds: readonly string[]) => void
  /** What would have to wait for another worker's statement is `busy`, unless it may wait. */
  store: (items: readonly Item[], mayWait: boolean) => Promise<readonly (Out | 'busy')[]>
  /** Does what stored items need before their callers hear of it, while the next items are stored. */
  conclude: (items: readonly Item[], results: readonly Out[]) => Promise<void>
  /** Whether a result means that the item was not stored, nor what follows it. */
  isFailure: (result: Out) => boolean
  onLaneTime: OnLaneTime
  now: () => number
  bounds: Bounds
}

export type Turn<Item, Out> = {
  handIn: (item: Item) => Promise<Out | 'given-back'>
  /** Gives back all that waits and all that comes, but for suspects, until `open`. */
  close: () => void
  open: () => void
}

type Held = {
  item: Placed
  since: number
  /** It waits for no purge, or for one that is stored with it or before it by this worker. */
  isReady: boolean
  resolve: (result: unknown) => void
  reject: (reason: unknown) => void
}

/** Looks at a workspace of which something waits for a purge. */
type Watch = { movedAt: number; pauseMs: number; isWoken: boolean; endPause: () => void }

/** What one `inTurn` has in hand. Only an item's place matters to the steps, so `inTurn` alone knows the types of items and results. */
type State = InTurn<Placed, unknown> & {
  strides: Strides
  waiting: Held[]
  lanes: Lane[]
  watches: Map<string, Watch>
  isClosed: boolean
  timer: ReturnType<typeof setTimeout> | undefined
  /** Of the items that have come since a statement was last looked for. */
  weight: number
  gatherUntil: number
}

/**
 * Collects batches that are handed in one by one and stores them in lanes (lanes.ts), lowest number first; each caller gets the result of
 * its own batch. Batches that have to wait for a purge are kept back until the purge is decided. What a purge waits for may lie behind all
 * that this worker has room for: when nothing moves, it is taken from the books.
 */
export const inTurn = <Item extends Placed, Out>(given: InTurn<Item, Out>): Turn<Item, Out> => {
  const turn: State = {
    ...(given as unknown as InTurn<Placed, unknown>),
    strides: stridesWithin(given.bounds, given.now),
    waiting: [],
    lanes: [],
    watches: new Map(),
    isClosed: false,
    timer: undefined,
    weight: 0,
    gatherUntil: 0,
  }
  return {
    handIn: (item) =>
      new Promise((resolve, reject) => {
        const isReady = !item.isPurge && !item.isAfterPurge
        handIn(turn, { item, since: turn.now(), isReady, resolve: resolve as Held['resolve'], reject })
      }),
    close: () => {
      turn.isClosed = true
      giveBack(turn.waiting)
      turn.waiting = []
    },
    open: () => {
      turn.isClosed = false
    },
  }
}

const handIn = (turn: State, held: Held): void => {
  if (turn.isClosed && !held.item.isSuspect) return giveBack([held])
  turn.waiting.push(held)
  if (!held.isReady) return watch(turn, held.item.workspaceId)
  turn.weight += held.item.weight
  if (turn.timer === undefined || turn.weight >= turn.bounds.enough) begin(turn)
}

/** Begins the statements that are due, and looks again when the next one may be. */
const begin = (turn: State): void => {
  if (turn.lanes.length === turn.bounds.lanes) return
  clearTimeout(turn.timer)
  turn.timer = undefined
  turn.weight = 0
  for (;;) {
    const now = turn.now()
    const ready = turn.waiting.filter(({ isReady }) => isReady)
    const next = nextStatement(ready, { ...turn, now })
    if (next === undefined) return
    if ('lookAt' in next) {
      turn.timer = setTimeout(() => begin(turn), Math.max(0, next.lookAt - now))
      return
    }
    void store(turn, next)
  }
}

const store = async (turn: State, { held, isApart, mayWait }: Statement<Held>): Promise<void> => {
  const items = held.map(({ item }) => item)
  const lane = {
    items,
    workspaceIds: new Set(items.map(({ workspaceId }) => workspaceId)),
    isApart,
    beganAt: turn.now(),
  }
  turn.waiting = without(turn.waiting, held)
  turn.lanes.push(lane)
  let results: readonly unknown[] = []
  try {
    results = await turn.store(items, mayWait)
    conclude(turn, held, results)
  } catch (error) {
    for (const { reject } of held) reject(error)
  } finally {
    turn.lanes = without(turn.lanes, [lane])
    ended(turn, lane, results)
  }
}

/** What was busy waits on. All others hear of their results when these are concluded. */
const conclude = (turn: State, held: readonly Held[], results: readonly unknown[]): void => {
  const busy = held.filter((_, at) => results[at] === 'busy')
  if (turn.isClosed) giveBack(busy)
  else turn.waiting = [...turn.waiting, ...busy]
  const stored = held.flatMap((one, at) => (results[at] === 'busy' ? [] : { ...one, result: results[at] }))
  const items = stored.map(({ item }) => item)
  const concluded = turn.conclude(
    items,
    stored.map(({ result }) => result),
  )
  void concluded.then(
    () => stored.forEach(({ resolve, result }) => resolve(result)),
    (error: unknown) => stored.forEach(({ reject }) => reject(error)),
  )
}

/** `results` is empty when nothing was stored. */
const ended = (turn: State, { items, isApart, workspaceIds, beganAt }: Lane, results: readonly unknown[]): void => {
  const { bounds, strides, watches } = turn
  const now = turn.now()
  // A statement that waited for this one has begun now.
  for (const other of turn.lanes) if (!other.workspaceIds.isDisjointFrom(workspaceIds)) other.beganAt = now
  const stored = items.filter((_, at) => results[at] !== 'busy')
  const weights = weightsOf(stored)
  const ms = now - beganAt
  strides.took(weights, ms)
  const whole = weights.reduce((sum, { weight }) => sum + weight, 0)
  for (const { workspaceId, weight } of weights) turn.onLaneTime(workspaceId, ((ms / 1_000) * weight) / whole)
  for (const item of without(items, stored)) strides.wasBusy(item.workspaceId)
  const submissions = items.reduce((sum, item) => sum + item.submissions, 0)
  if (!isApart) turn.gatherUntil = submissions >= bounds.busyFrom ? now + bounds.busyWaitMs : 0
  // What was to be stored behind something that failed has to wait for it again.
  for (const [at, { workspaceId }] of items.entries()) {
    const result = results[at]
    if (result === undefined || result === 'busy' || turn.isFailure(result)) lookAnew(turn, workspaceId)
  }
  for (const workspaceId of workspaceIds) {
    const watching = watches.get(workspaceId)
    if (watching === undefined) continue
    watching.movedAt = now
    wake(watching)
  }
  begin(turn)
}

const weightsOf = (items: readonly Placed[]): { workspaceId: string; weight: number }[] =>
  [...Map.groupBy(items, ({ workspaceId }) => workspaceId)].map(([workspaceId, own]) => ({
    workspaceId,
    weight: own.reduce((sum, { weight }) => sum + weight, 0),
  }))

const lookAnew = (turn: State, workspaceId: string): void => {
  for (const held of turn.waiting) {
    if (held.item.workspaceId === workspaceId && (held.item.isPurge || held.item.isAfterPurge)) held.isReady = false
  }
  watch(turn, workspaceId)
}

const notReady = (turn: State, workspaceId: string): Held[] =>
  turn.waiting.filter(({ item, isReady }) => !isReady && item.workspaceId === workspaceId)

const watch = (turn: State, workspaceId: string): void => {
  const watching = turn.watches.get(workspaceId)
  if (watching) return wake(watching)
  if (notReady(turn, workspaceId).length === 0) return
  const begun = { movedAt: turn.now(), pauseMs: turn.bounds.lookAgainAfterMs, isWoken: false, endPause: () => {} }
  turn.watches.set(workspaceId, begun)
  void keepLooking(turn, workspaceId, begun)
}

const keepLooking = async (turn: State, workspaceId: string, watching: Watch): Promise<void> => {
  try {
    while (notReady(turn, workspaceId).length > 0) {
      watching.isWoken = false
      await look(turn, workspaceId, watching)
      if (!watching.isWoken) await pauseOf(turn, watching)
    }
  } catch (error) {
    const own = notReady(turn, workspaceId)
    turn.waiting = without(turn.waiting, own)
    for (const { reject } of own) reject(error)
  } finally {
    turn.watches.delete(workspaceId)
  }
}

/** Sees what of a workspace is ready now. Suspects that are not are given back. */
const look = async (turn: State, workspaceId: string, watching: Watch): Promise<void> => {
  const { bounds, now } = turn
  const barrier = await turn.readBarrier(workspaceId)
  const own = turn.waiting.filter(({ item }) => item.workspaceId === workspaceId)
  const underWay = turn.lanes.flatMap(({ items }) => items).filter((item) => item.workspaceId === workspaceId)
  const { ready, missing } = readyNow([...own.map(({ item }) => item), ...underWay], barrier)
  const numbers = new Set(ready)
  const becameReady = own.filter(({ item, isReady }) => !isReady && numbers.has(item.number))
  for (const held of becameReady) held.isReady = true
  const suspects = own.filter(({ item, isReady }) => !isReady && item.isSuspect)
  turn.waiting = without(turn.waiting, suspects)
  giveBack(suspects)
  if (becameReady.length > 0) {
    watching.movedAt = now()
    begin(turn)
  } else if (now() - watching.movedAt > bounds.stuckAfterMs && missing.length > 0) {
    watching.movedAt = now()
    turn.take(workspaceId, missing.slice(0, bounds.taken))
  }
}

/** Until it is time to look again, or something of the workspace comes or ends. */
const pauseOf = async ({ bounds }: State, watching: Watch): Promise<void> => {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, watching.pauseMs)
    watching.endPause = () => {
      clearTimeout(timer)
      resolve()
    }
  })
  const { lookAgainAfterMs, lookAgainWithinMs } = bounds
  watching.pauseMs = watching.isWoken ? lookAgainAfterMs : Math.min(2 * watching.pauseMs, lookAgainWithinMs)
}

const wake = (watching: Watch): void => {
  watching.isWoken = true
  watching.endPause()
}

const giveBack = (held: readonly Held[]): void => held.forEach(({ resolve }) => resolve('given-back'))

const without = <T>(all: readonly T[], some: readonly T[]): T[] => {
  const isTakenOut = new Set(some)
  return all.filter((one) => !isTakenOut.has(one))
}
