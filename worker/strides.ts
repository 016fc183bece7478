/** Workspaces that are remembered at most. Of which nothing was stored for the longest time is forgotten first. */
const MOST_REMEMBERED = 10_000
/** The first stride of a workspace: it may be slow. */
const FIRST = 16
/** A workspace that brought so much of what a slow statement stored may be why it was slow. */
const SHARE = 1 / 4
/** How long a workspace is slow after a slow statement. */
const SLOW_FOR_MS = 10_000
/** A statement with little in it may take so much longer than the budget, and once any time: what slows it can be the work of others. */
const PATIENCE = 4
/** The time constant with which time in lanes is forgotten. */
const LATELY_MS = 10_000

/** `overs`: how many of its statements in a row took too long. */
type Stride = { most: number; slowUntil: number; takenMs: number; asOf: number; overs: number }
type Stored = { workspaceId: string; weight: number }

export type Strides = {
  /** What one statement stores of a workspace at most, by weight. */
  mostOf: (workspaceId: string) => number
  /** A statement of it took long lately, or would have had to wait for another worker's just now. */
  isSlow: (workspaceId: string) => boolean
  /** How many milliseconds in lanes it took lately. */
  takenLately: (workspaceId: string) => number
  /** Hears what a statement stored of each workspace, and how long it took. */
  took: (stored: readonly Stored[], ms: number) => void
  /** Hears that a statement would have had to wait for another worker's. */
  wasBusy: (workspaceId: string) => void
}

/**
 * How much of a workspace one statement stores: little at first, twice as much after each statement of such a weight that kept within the
 * budget, less after one that took longer.
 */
export const stridesWithin = (
  { mostWeight, budgetMs }: { mostWeight: number; budgetMs: number },
  now: () => number,
): Strides => {
  const first: Stride = { most: Math.min(FIRST, mostWeight), slowUntil: -Infinity, takenMs: 0, asOf: 0, overs: 0 }
  const strides = new Map<string, Stride>()
  const of = (workspaceId: string): Stride => strides.get(workspaceId) ?? first
  const remember = (workspaceId: string, stride: Stride): void => {
    strides.delete(workspaceId)
    strides.set(workspaceId, stride)
    if (strides.size > MOST_REMEMBERED) strides.delete(strides.keys().next().value!)
  }
  const faded = ({ takenMs, asOf }: Stride): number => takenMs * Math.exp((asOf - now()) / LATELY_MS)
  return {
    mostOf: (workspaceId) => of(workspaceId).most,
    isSlow: (workspaceId) => of(workspaceId).slowUntil > now(),
    takenLately: (workspaceId) => faded(of(workspaceId)),
    took: (stored, ms) => {
      const total = stored.reduce((sum, { weight }) => sum + weight, 0)
      for (const { workspaceId, weight } of stored) {
        const former = of(workspaceId)
        const isLight = weight < FIRST
        const isOver = ms > (isLight ? PATIENCE : 1) * budgetMs && weight >= total * SHARE
        const overs = isOver ? former.overs + 1 : 0
        const taken = { ...former, takenMs: faded(former) + (ms * weight) / total, asOf: now(), overs }
        if (isOver && (overs > 1 || !isLight)) {
          const shorter = Math.min(former.most, weight) * (budgetMs / ms)
          remember(workspaceId, { ...taken, most: Math.max(1, shorter), slowUntil: now() + SLOW_FOR_MS })
        } else if (ms <= budgetMs && 2 * weight >= former.most) {
          remember(workspaceId, { ...taken, most: Math.min(mostWeight, 2 * Math.max(former.most, weight)) })
        } else remember(workspaceId, taken)
      }
    },
    wasBusy: (workspaceId) => {
      const former = of(workspaceId)
      remember(workspaceId, { ...former, slowUntil: Math.max(former.slowUntil, now() + budgetMs) })
    },
  }
}
