import { type Barrier, readyNow } from '../queue/barrier.ts'

/** A batch to store, in its place among those of its workspace. */
export type Placed = {
  workspaceId: string
  /** The number of its first submission. */
  number: number
  isPurge: boolean
  /** How many submissions it has, and how many rows they come to, roughly. */
  submissions: number
  weight: number
  /** It is given back at once when it cannot be stored now, and is taken while others are given back. */
  isSuspect: boolean
}

type Bounds = {
  /** What one statement stores at most, by weight, and how long a lone batch waits for company. */
  mostWeight: number
  waitMs: number
  /** After a statement with so many submissions the next one gathers for longer, or until `enough` has come, by weight. */
  busyFrom: number
  busyWaitMs: number
  enough: number
  /** Statements at the same time; a second one begins only when `enough` has come. */
  parallel: number
  /** Batches that have to wait for a purge are looked at again after this time. */
  lookAgainAfterMs: number
  /** When nothing could be stored for so long, missing batches are taken, at most so many of a workspace. */
  stuckAfterMs: number
  taken: number
}

type InTurn<Item, Out> = {
  readBarrier: (workspaceId: string) => Promise<Barrier>
  /** Has this worker take batches of a workspace that others have, or that still wait: what it holds waits for them. */
  take: (workspaceId: string, batchIds: readonly string[]) => void
  store: (items: readonly Item[]) => Promise<readonly Out[]>
  /** Does what stored items need before their callers hear of it, while the next items are stored. */
  conclude: (items: readonly Item[], results: readonly Out[]) => Promise<void>
  now: () => number
  bounds: Bounds
}

export type Turn<Item, Out> = {
  handIn: (item: Item) => Promise<Out | 'given-back'>
  /** Gives back all that waits and all that comes, but for suspects, until `open`. */
  close: () => void
  open: () => void
}

type Held = { item: Placed; resolve: (result: unknown) => void; reject: (reason: unknown) => void }

/** What one `inTurn` has in hand. Only an item's place matters to the steps, so `inTurn` alone knows the types of items and results. */
type State = InTurn<Placed, unknown> & {
  waiting: Held[]
  isClosed: boolean
  timer: ReturnType<typeof setTimeout> | undefined
  /** Rounds under way. */
  running: number
  /** When something was last ready, stored or taken. */
  movedAt: number
  /** Of the items that have come since the last round began. */
  weight: number
}

/**
 * Collects batches that are handed in one by one and stores them together, lowest number first; each caller gets the result of its own
 * batch. Batches that have to wait for a purge are kept back until the purge is decided. What a purge waits for may lie behind all that
 * this worker has room for: when nothing moves, it is taken from the books.
 */
export const inTurn = <Item extends Placed, Out>(given: InTurn<Item, Out>): Turn<Item, Out> => {
  const state = { waiting: [], isClosed: false, timer: undefined, running: 0, movedAt: given.now(), weight: 0 }
  const turn: State = { ...(given as unknown as InTurn<Placed, unknown>), ...state }
  return {
    handIn: (item) =>
      new Promise((resolve, reject) => handIn(turn, { item, resolve: resolve as Held['resolve'], reject })),
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
  if (turn.waiting.length === 0 && turn.running === 0) turn.movedAt = turn.now()
  turn.waiting.push(held)
  turn.weight += held.item.weight
  if (turn.weight >= turn.bounds.enough) void round(turn)
  else schedule(turn, turn.bounds.waitMs)
}

const schedule = (turn: State, afterMs: number): void => {
  turn.timer ??= setTimeout(() => {
    turn.timer = undefined
    if (turn.running === 0 || turn.weight >= turn.bounds.enough) void round(turn)
  }, afterMs)
}

/** Stores the first of what waits together. Whatever is neither stored nor given back waits on. */
const round = async (turn: State): Promise<void> => {
  if (turn.running >= turn.bounds.parallel || turn.waiting.length === 0) return
  turn.running++
  const inHand = turn.waiting
  turn.waiting = []
  turn.weight = 0
  let batch: Held[] = []
  try {
    batch = await takeBatch(turn, inHand)
    if (batch.length > 0) {
      await storeTogether(turn, batch)
      turn.movedAt = turn.now()
    }
  } catch (error) {
    for (const { reject } of batch.length > 0 ? batch : inHand) reject(error)
  } finally {
    turn.running--
    scheduleNext(turn, submissionsOf(batch))
  }
}

const scheduleNext = (turn: State, stored: number): void => {
  const { waiting, weight, bounds } = turn
  if (stored >= bounds.busyFrom && Math.max(submissionsOf(waiting), weight) < bounds.enough)
    schedule(turn, bounds.busyWaitMs)
  else if (waiting.length > 0) schedule(turn, stored > 0 ? 0 : bounds.lookAgainAfterMs)
}

/** The first batches that are ready. Of the others suspects are given back, and the rest waits on. */
const takeBatch = async (turn: State, inHand: readonly Held[]): Promise<Held[]> => {
  const { now, bounds } = turn
  const { ready, missing } = whatIsReady(inHand, await readBarriers(turn, inHand))
  const notReady = without(inHand, ready)
  const kept = turn.isClosed ? [] : notReady.filter(({ item }) => !item.isSuspect)
  giveBack(without(notReady, kept))
  if (ready.length > 0) turn.movedAt = now()
  if (turn.running === 1 && kept.length > 0 && now() - turn.movedAt > bounds.stuckAfterMs) {
    turn.movedAt = now()
    for (const [workspaceId, batchIds] of missing) turn.take(workspaceId, batchIds.slice(0, bounds.taken))
  }
  const first = withinBounds(ready, bounds.mostWeight)
  turn.waiting.push(...kept, ...ready.slice(first.length))
  return first
}

const withinBounds = (ready: readonly Held[], most: number): Held[] => {
  let weight = 0
  const end = ready.findIndex(({ item }, at) => {
    weight += item.weight
    return at > 0 && weight > most
  })
  return ready.slice(0, end === -1 ? ready.length : end)
}

const submissionsOf = (held: readonly Held[]): number => held.reduce((sum, { item }) => sum + item.submissions, 0)

const readBarriers = async ({ readBarrier }: State, inHand: readonly Held[]): Promise<ReadonlyMap<string, Barrier>> => {
  const workspaceIds = [...new Set(inHand.map(({ item }) => item.workspaceId))]
  return new Map(await Promise.all(workspaceIds.map(async (id) => [id, await readBarrier(id)] as const)))
}

type Ready = { ready: Held[]; missing: (readonly [workspaceId: string, batchIds: string[]])[] }

/**
 * `ready`: what may be stored now, lowest number first; numbers are times, so workspaces get their turns fairly. `missing`: the
 * batches that purges wait for and that are not in hand, by workspace.
 */
const whatIsReady = (inHand: readonly Held[], barriers: ReadonlyMap<string, Barrier>): Ready => {
  const looks = [...Map.groupBy(inHand, ({ item }) => item.workspaceId)].map(([workspaceId, own]) => {
    const items = own.map(({ item }) => item)
    const { ready, missing } = readyNow(items, barriers.get(workspaceId)!)
    const numbers = new Set(ready)
    return { ready: own.filter(({ item }) => numbers.has(item.number)), missing: [workspaceId, missing] as const }
  })
  return { ready: looks.flatMap(({ ready }) => ready).toSorted(byNumber), missing: looks.map(({ missing }) => missing) }
}

const storeTogether = async (turn: State, batch: readonly Held[]): Promise<void> => {
  const items = batch.map(({ item }) => item)
  const fail = (error: unknown): void => batch.forEach(({ reject }) => reject(error))
  try {
    const results = await turn.store(items)
    void turn.conclude(items, results).then(() => batch.forEach(({ resolve }, at) => resolve(results[at])), fail)
  } catch (error) {
    fail(error)
  }
}

const giveBack = (held: readonly Held[]): void => held.forEach(({ resolve }) => resolve('given-back'))

const byNumber = (one: Held, other: Held): number => one.item.number - other.item.number

const without = <T>(all: readonly T[], some: readonly T[]): T[] => {
  const isTakenOut = new Set(some)
  return all.filter((one) => !isTakenOut.has(one))
}
