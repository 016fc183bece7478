import type { Figure } from '../runtime/metrics.ts'
import { LATELY_SECONDS, type ProcessReport } from '../queue/jobs/process-reports.ts'

/**
 * Hears how long the strides of a workspace took. A stride of several workspaces counts for each by
 * its weight.
 */
export type OnApplyTime = (workspaceId: string, seconds: number) => void

/**
 * Beyond twice as many workspaces, only the heaviest are kept. Looking for the lightest at each
 * call would cost more.
 */
const REMEMBERED = 50
/**
 * A workspace gets a counter of its own once it takes this share of the time. At most ten can do so
 * at once.
 */
const COUNTED_FROM_SHARE = 0.1
const COUNTED = 10
const FORGOTTEN_SECONDS = 0.001
/** A stride can have dozens of workspaces, and fading goes through all that are remembered. */
const FADES_EVERY_MS = 100

type ApplyTimes = {
  add: OnApplyTime
  lately: () => ProcessReport['applying']
  /** Seconds since the start, by `workspace`. */
  counted: () => Figure[]
}

/**
 * How long the strides of workspaces took, lately and since the start, in a space that does not
 * grow with their number: the lightest workspace gives way. Each moment is counted once: for its
 * workspace if that has a counter, else for the others. So no counter falls. A counter that gave
 * way starts at 0 when it comes back, which Prometheus takes for the start of a process.
 */
export const createApplyTimes = (now: () => number): ApplyTimes => {
  const lately = createFadingSums(now)
  const counted = new Map<string, number>()
  let others = 0

  const beginCounting = (id: string): void => {
    if (counted.size === COUNTED) {
      const [lightest] = [...counted.keys()].toSorted((one, other) => lately.of(one) - lately.of(other))
      counted.delete(lightest!)
    }
    counted.set(id, 0)
  }

  return {
    add: (id, seconds) => {
      lately.add(id, seconds)
      if (!counted.has(id) && lately.of(id) >= COUNTED_FROM_SHARE * lately.total()) beginCounting(id)
      const counter = counted.get(id)
      if (counter === undefined) others += seconds
      else counted.set(id, counter + seconds)
    },
    lately: lately.heaviest,
    counted: () =>
      [...counted, ['others', others] as const].map(([workspace, value]) => ({ labels: { workspace }, value })),
  }
}

/** Sums in which a second counts less, the longer ago it was. */
const createFadingSums = (now: () => number) => {
  const sums = new Map<string, number>()
  let total = 0
  let asOf = now()

  const fade = (): void => {
    const passedMs = now() - asOf
    if (passedMs >= 0 && passedMs < FADES_EVERY_MS) return
    asOf = now()
    const factor = Math.exp(-Math.max(0, passedMs) / 1_000 / LATELY_SECONDS)
    total *= factor
    for (const [id, seconds] of sums) {
      if (seconds * factor < FORGOTTEN_SECONDS) sums.delete(id)
      else sums.set(id, seconds * factor)
    }
  }
  const keepHeaviest = (): void => {
    const lightestFirst = [...sums].toSorted(([, one], [, other]) => one - other)
    for (const [id] of lightestFirst.slice(0, -REMEMBERED)) sums.delete(id)
  }

  return {
    of: (id: string): number => sums.get(id) ?? 0,
    total: (): number => total,
    add: (id: string, seconds: number): void => {
      fade()
      total += seconds
      sums.set(id, (sums.get(id) ?? 0) + seconds)
      if (sums.size > 2 * REMEMBERED) keepHeaviest()
    },
    heaviest: (): ProcessReport['applying'] => {
      fade()
      keepHeaviest()
      return { total, byWorkspace: Object.fromEntries(sums) }
    },
  }
}
