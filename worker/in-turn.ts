import { type Barrier, readyNow } from '../queue/barrier.ts'

/** Something to store, in its place among the submissions of its workspace. */
export type Placed = {
  workspaceId: string
  number: number
  isPurge: boolean
  queue: string
  /** How many rows the item comes to, roughly; 1 when absent. */
  weight?: number
  /** The item is given back at once when it cannot be stored now: the submission that it would wait for may need its place. */
  isImpatient?: boolean
}

type Bounds = {
  /** Items that one statement stores at most, and how long a lone item waits for company. */
  items: number
  waitMs: number
  /** After a statement with so many items the next one gathers for longer, or until `enough` has come, by weight. */
  busyFrom: number
  busyWaitMs: number
  enough: number
  /** Statements at the same time; a second one begins only when `enough` has come. */
  parallel: number
  /** Items that have to wait for a purge are looked at again after this time. */
  lookAgainAfterMs: number
  /** When nothing could be stored for so long, missing submissions are brought forward, at most so many of a workspace. */
  stuckAfterMs: number
  exchanged: number
}

type InTurn<Item, Out> = {
  readBarrier: (workspaceId: string) => Promise<Barrier>
  /** Puts waiting submissions first in their queue; returns how many it moved, by queue. */
  bringForward: (submissionIds: readonly string[]) => Promise<ReadonlyMap<string, number>>
  store: (items: readonly Item[]) => Promise<readonly Out[]>
  /** Does what stored items need before their callers hear of it, while the next items are stored. */
  conclude: (items: readonly Item[], results: readonly Out[]) => Promise<void>
  isPermanent: (error: unknown) => boolean
  now: () => number
  bounds: Bounds
}

type Held = { item: Placed; resolve: (result: unknown) => void; reject: (reason: unknown) => void }

/** What one `inTurn` has in hand. Only an item's place matters to the steps, so `inTurn` alone knows the types of items and results. */
type Turn = InTurn<Placed, unknown> & {
  waiting: Held[]
  timer: ReturnType<typeof setTimeout> | undefined
  /** Rounds under way. */
  running: number
  /** When something was last ready, stored or exchanged. */
  movedAt: number
  /** Of the items that have come since the last round began. */
  weight: number
}

/**
 * Collects items that are handed in one by one and stores them together, lowest number first; each caller gets the result of
 * its own item. Items that have to wait for a purge are kept back until the purge is decided. A job that is tried again has
 * lost its place in its queue: when nothing moves because a purge waits for such a job, the job is brought forward, and the
 * latest items are given back to make room. When a batch fails for a reason that trying again cannot mend, its items up to the
 * next purge are stored one by one, so that a bad item fails alone.
 */
export const inTurn = <Item extends Placed, Out>(
  given: InTurn<Item, Out>,
): ((item: Item) => Promise<Out | 'given-back'>) => {
  const state = { waiting: [], timer: undefined, running: 0, movedAt: given.now(), weight: 0 }
  const turn: Turn = { ...(given as unknown as InTurn<Placed, unknown>), ...state }
  return (item) => new Promise((resolve, reject) => handIn(turn, { item, resolve: resolve as Held['resolve'], reject }))
}

const handIn = (turn: Turn, held: Held): void => {
  if (turn.waiting.length === 0 && turn.running === 0) turn.movedAt = turn.now()
  turn.waiting.push(held)
  turn.weight += held.item.weight ?? 1
  if (turn.weight >= turn.bounds.enough) void round(turn)
  else schedule(turn, turn.bounds.waitMs)
}

const schedule = (turn: Turn, afterMs: number): void => {
  turn.timer ??= setTimeout(() => {
    turn.timer = undefined
    if (turn.running === 0 || turn.weight >= turn.bounds.enough) void round(turn)
  }, afterMs)
}

/** Stores one batch of what waits. Whatever is neither stored nor given back waits on. */
const round = async (turn: Turn): Promise<void> => {
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
    scheduleNext(turn, batch.length)
  }
}

const scheduleNext = (turn: Turn, stored: number): void => {
  const { waiting, weight, bounds } = turn
  if (stored >= bounds.busyFrom && Math.max(waiting.length, weight) < bounds.enough) schedule(turn, bounds.busyWaitMs)
  else if (waiting.length > 0) schedule(turn, stored > 0 ? 0 : bounds.lookAgainAfterMs)
}

/** The first items that are ready. Of the others the impatient ones are given back, and the rest waits on. */
const takeBatch = async (turn: Turn, inHand: readonly Held[]): Promise<Held[]> => {
  const { now, bounds } = turn
  const { ready, missing } = whatIsReady(inHand, await readBarriers(turn, inHand))
  const notReady = without(inHand, ready)
  const impatient = notReady.filter(({ item }) => item.isImpatient === true)
  giveBack(impatient)
  if (ready.length > 0) turn.movedAt = now()
  const patient = without(notReady, impatient)
  const isStuck = turn.running === 1 && now() - turn.movedAt > bounds.stuckAfterMs
  const toBringForward = missing.flatMap((ofWorkspace) => ofWorkspace.slice(0, bounds.exchanged))
  const kept = isStuck ? await exchange(turn, patient, toBringForward) : patient
  // Pushed last: during the exchange another round may have begun, which takes the list of what waits with it.
  turn.waiting.push(...kept, ...ready.slice(bounds.items))
  return ready.slice(0, bounds.items)
}

const readBarriers = async ({ readBarrier }: Turn, inHand: readonly Held[]): Promise<ReadonlyMap<string, Barrier>> => {
  const workspaceIds = [...new Set(inHand.map(({ item }) => item.workspaceId))]
  return new Map(await Promise.all(workspaceIds.map(async (id) => [id, await readBarrier(id)] as const)))
}

type Ready = { ready: Held[]; missing: string[][] }

/**
 * `ready`: what may be stored now, lowest number first; numbers are times, so workspaces get their turns fairly. `missing`: the
 * submissions that purges wait for and that are in other hands, by workspace.
 */
const whatIsReady = (inHand: readonly Held[], barriers: ReadonlyMap<string, Barrier>): Ready => {
  const looks = [...Map.groupBy(inHand, ({ item }) => item.workspaceId)].map(([workspaceId, own]) => {
    const items = own.map(({ item }) => item)
    const { ready, missing } = readyNow(items, barriers.get(workspaceId)!)
    const numbers = new Set(ready)
    // A submission that is delivered twice at once is stored once at a time.
    return { ready: own.filter(({ item }) => numbers.delete(item.number)), missing }
  })
  return { ready: looks.flatMap(({ ready }) => ready).toSorted(byNumber), missing: looks.map(({ missing }) => missing) }
}

/** Brings missing submissions forward and gives back the latest held ones to make room. Returns what is kept. */
const exchange = async (turn: Turn, held: readonly Held[], missing: readonly string[]): Promise<Held[]> => {
  turn.movedAt = turn.now()
  const latest = latestOf(held, await turn.bringForward(missing))
  giveBack(latest)
  return without(held, latest)
}

/** The latest items of each queue, as many as were moved in it. */
const latestOf = (held: readonly Held[], moved: ReadonlyMap<string, number>): Held[] =>
  [...Map.groupBy(held, ({ item }) => item.queue)].flatMap(([queue, own]) =>
    own.toSorted(byNumber).slice(own.length - Math.min(moved.get(queue) ?? 0, own.length)),
  )

const storeTogether = async (turn: Turn, batch: readonly Held[]): Promise<void> => {
  const items = batch.map(({ item }) => item)
  const fail = (error: unknown): void => batch.forEach(({ reject }) => reject(error))
  try {
    const results = await turn.store(items)
    void turn.conclude(items, results).then(() => batch.forEach(({ resolve }, at) => resolve(results[at])), fail)
  } catch (error) {
    if (batch.length === 1 || !turn.isPermanent(error)) return fail(error)
    const alone = upToPurge(batch)
    turn.waiting.push(...batch.slice(alone.length))
    for (const one of alone) await storeTogether(turn, [one])
  }
}

/** What comes before the first purge of a batch; the purge itself when it comes first. */
const upToPurge = (batch: readonly Held[]): readonly Held[] => {
  const at = batch.findIndex(({ item }) => item.isPurge)
  return at < 0 ? batch : batch.slice(0, Math.max(at, 1))
}

const giveBack = (held: readonly Held[]): void => held.forEach(({ resolve }) => resolve('given-back'))

const byNumber = (one: Held, other: Held): number => one.item.number - other.item.number

const without = <T>(all: readonly T[], some: readonly T[]): T[] => {
  const isTakenOut = new Set(some)
  return all.filter((one) => !isTakenOut.has(one))
}
