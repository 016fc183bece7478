import type { Strides } from './strides.ts'

/** A batch to store, in its place among those of its workspace. */
export type Placed = {
  workspaceId: string
  /** The number of its first submission. */
  number: number
  isPurge: boolean
  /** An undecided purge had been accepted before it when it was read. */
  isAfterPurge: boolean
  /** How many submissions it has, and what they weigh: a plain feedback weighs 1. */
  submissions: number
  weight: number
  /** Its workspace has much waiting. */
  isBacklog: boolean
  /** It is given back at once when it cannot be stored now, and is taken while others are given back. */
  isSuspect: boolean
}

export type LaneBounds = {
  /** Statements at the same time. The last lane is never for a workspace that is stored apart from the others. */
  lanes: number
  /** What one statement stores at most, by weight, and how long a lone batch waits for company. */
  mostWeight: number
  waitMs: number
  /** After a shared statement with so many submissions the next one gathers for longer, or until `enough` has come, by weight. */
  busyFrom: number
  busyWaitMs: number
  enough: number
  /**
   * What a statement of a workspace that is apart stores at least, however slow that was: a statement can cost the same for one
   * submission as for several, such as when each is about a contact of 16 MB, which is written anew once.
   */
  least: { submissions: number; weight: number }
}

/** A statement under way. */
export type Lane = { items: readonly Placed[]; workspaceIds: ReadonlySet<string>; isApart: boolean; beganAt: number }

type Waiting = { item: Placed; since: number }
type Situation = {
  lanes: readonly Lane[]
  strides: Strides
  bounds: LaneBounds
  /** Until then the next shared statement gathers. */
  gatherUntil: number
  now: number
}
/**
 * `mayWait`: for statements of other workers that store the same workspace. One of several workspaces may not, since all would wait; nor may
 * the one in the last lane.
 */
export type Statement<Held> = { isApart: boolean; mayWait: boolean; held: Held[] }
type Candidate<Held> = Statement<Held> & { dueAt: number }

/**
 * What the next statement stores of that which may be stored now, or when to look again; undefined when there is nothing to wait for but the
 * end of a statement. Workspaces that have little waiting share a statement. One that has much, or was slow, has its own, and one at a
 * time; of those that were slow one at a time has any, since what they write others have to wait for; and of those apart the one that took least of the lanes lately begins first. Between that one and the shared statement the lowest number
 * decides; numbers are times.
 */
export const nextStatement = <Held extends Waiting>(
  waiting: readonly Held[],
  situation: Situation,
): Statement<Held> | { lookAt: number } | undefined => {
  const candidates = candidatesOf(waiting, situation).toSorted((one, other) => firstOf(one) - firstOf(other))
  const due = candidates.find(({ dueAt }) => dueAt <= situation.now)
  if (due) return due
  return candidates.length === 0 ? undefined : { lookAt: Math.min(...candidates.map(({ dueAt }) => dueAt)) }
}

const firstOf = ({ held }: Statement<Waiting>): number => held[0]!.item.number

const candidatesOf = <Held extends Waiting>(waiting: readonly Held[], situation: Situation): Candidate<Held>[] => {
  const { strides, lanes } = situation
  const free = situation.bounds.lanes - lanes.length
  if (free === 0) return []
  const isSlowUnderWay = lanes.some(({ isApart, workspaceIds }) => isApart && [...workspaceIds].some(strides.isSlow))
  const shared: Held[] = []
  const apart: Candidate<Held>[] = []
  for (const [workspaceId, own] of Map.groupBy(waiting, ({ item }) => item.workspaceId)) {
    if (!mayBegin(workspaceId, own, situation)) continue
    if (mayShare(workspaceId, own, strides)) shared.push(...own)
    else if (free > 1 && !(strides.isSlow(workspaceId) && isSlowUnderWay))
      apart.push(apartOf(workspaceId, own, situation))
  }
  const taken = ({ held }: Candidate<Held>): number => strides.takenLately(held[0]!.item.workspaceId)
  const next = apart.toSorted((one, other) => taken(one) - taken(other)).slice(0, 1)
  return shared.length === 0 ? next : [...next, sharedOf(shared, situation)]
}

/** A batch of which nobody knows how long it takes, and that is no small one, shows that apart. */
const mayShare = (workspaceId: string, own: readonly Waiting[], strides: Strides): boolean =>
  !strides.isSlow(workspaceId) && own.every(({ item }) => !item.isBacklog && item.weight <= strides.mostOf(workspaceId))

/**
 * The statements at a time are of different workspaces. But one that waits in Postgres for the first of its workspace has nothing to wait
 * for when that ends: of two processors 1.5 were busy while a backlog was drained, 1.65 with such a second statement. It is begun with
 * enough for it, of no slow workspace, and never in the last lane; not if there is a purge, which could overtake what it follows, or be overtaken.
 */
const mayBegin = (workspaceId: string, own: readonly Waiting[], { lanes, strides, bounds }: Situation): boolean => {
  const underWay = lanes.filter(({ workspaceIds }) => workspaceIds.has(workspaceId)).length
  if (underWay === 0) return true
  const isLast = bounds.lanes - lanes.length === 1
  if (underWay > 1 || isLast || strides.isSlow(workspaceId)) return false
  return weightOf(own) >= bounds.enough && !own.some(({ item }) => item.isPurge || item.isAfterPurge)
}

const apartOf = <Held extends Waiting>(
  workspaceId: string,
  own: readonly Held[],
  { strides, bounds, now }: Situation,
): Candidate<Held> => {
  const most = strides.mostOf(workspaceId)
  const isFull = weightOf(own) >= Math.min(most, bounds.enough)
  return {
    isApart: true,
    mayWait: true,
    held: withinBounds(own, most, { least: bounds.least }),
    dueAt: isFull ? now : sinceOf(own) + bounds.waitMs,
  }
}

const sharedOf = <Held extends Waiting>(shared: readonly Held[], situation: Situation): Candidate<Held> => {
  const { bounds, now, gatherUntil, lanes, strides } = situation
  const begun = lanes.filter(({ isApart }) => !isApart).map(({ beganAt }) => beganAt + bounds.busyWaitMs)
  const dueAt =
    weightOf(shared) >= bounds.enough ? now : Math.max(sinceOf(shared) + bounds.waitMs, gatherUntil, ...begun)
  const held = withinBounds(shared, bounds.mostWeight, { strides })
  const isOfOne = held.every(({ item }) => item.workspaceId === held[0]!.item.workspaceId)
  return { isApart: false, mayWait: isOfOne && bounds.lanes - lanes.length > 1, held, dueAt }
}

const sinceOf = (held: readonly Waiting[]): number =>
  held.reduce((first, { since }) => Math.min(first, since), Infinity)

const weightOf = (held: readonly Waiting[]): number => held.reduce((sum, { item }) => sum + item.weight, 0)

/**
 * The first by number, of each workspace no more than its stride. An item that weighs more goes all the same, and so does the `least`.
 */
const withinBounds = <Held extends Waiting>(
  held: readonly Held[],
  most: number,
  { strides, least }: { strides?: Strides; least?: LaneBounds['least'] },
): Held[] => {
  const weights = new Map<string, number>()
  const within: Held[] = []
  let weight = 0
  let submissions = 0
  for (const one of held.toSorted((a, b) => a.item.number - b.item.number)) {
    const { workspaceId } = one.item
    const before = weights.get(workspaceId) ?? 0
    const own = before + one.item.weight
    weights.set(workspaceId, own)
    // What follows a batch that is left out is left out as well: a purge keeps its place.
    if (before > 0 && strides && own > strides.mostOf(workspaceId)) continue
    weight += one.item.weight
    const isOfLeast = least !== undefined && submissions < least.submissions && weight <= least.weight
    if (within.length > 0 && weight > most && !isOfLeast) break
    submissions += one.item.submissions
    within.push(one)
  }
  return within
}
