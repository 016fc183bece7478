import type { Figure } from '../runtime/metrics.ts'
import { LATELY_SECONDS, type ProcessReport } from '../queue/jobs/process-reports.ts'

/** Takes the time of a stride. Strides that were applied together share their time by weight. */
export type OnApplyTime = (workspaceId: string, seconds: number) => void

/**
 * Beyond twice this many workspaces, only this many of the heaviest stay. To search for the
 * lightest at each call would cost more.
 */
const REMEMBERED = 50
/** A workspace gets its own counter once it takes this share of the recent time. */
const COUNTED_FROM_SHARE = 0.1
const MOST_COUNTED = 10
const FORGOTTEN_BELOW_SECONDS = 0.001
/** Fading visits all remembered workspaces, and one job can add the times of dozens. */
const FADES_EVERY_MS = 100

type ApplyTimes = {
  add: OnApplyTime
  lately: () => ProcessReport['applying']
  /** The seconds of strides since the start, with the label `workspace`. */
  counted: () => Figure[]
}

/**
 * The time of strides by workspace, lately and since the start. So that memory is bounded, heavier
 * workspaces displace lighter ones. The time of a workspace without a counter counts for `others`.
 * A counter that comes back starts at 0, which Prometheus takes for a restart.
 */
export const createApplyTimes = (now: () => number): ApplyTimes => {
  const lately = createFadingSums(now)
  const counted = new Map<string, number>()
  let others = 0

  const beginCounting = (id: string): void => {
    if (counted.size === MOST_COUNTED) {
      const [lightest] = [...counted.keys()].toSorted((a, b) => lately.get(a) - lately.get(b))
      counted.delete(lightest!)
    }
    counted.set(id, 0)
  }

  return {
    add: (id, seconds) => {
      lately.add(id, seconds)
      if (!counted.has(id) && lately.get(id) >= COUNTED_FROM_SHARE * lately.total()) beginCounting(id)
      const counter = counted.get(id)
      if (counter === undefined) others += seconds
      else counted.set(id, counter + seconds)
    },
    lately: lately.heaviest,
    counted: () =>
      [...counted, ['others', others] as const].map(([workspace, value]) => ({ labels: { workspace }, value })),
  }
}

/** Sums of seconds. Older seconds count less. */
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
      if (seconds * factor < FORGOTTEN_BELOW_SECONDS) sums.delete(id)
      else sums.set(id, seconds * factor)
    }
  }
  const keepHeaviest = (): void => {
    const lightestFirst = [...sums].toSorted(([, a], [, b]) => a - b)
    for (const [id] of lightestFirst.slice(0, -REMEMBERED)) sums.delete(id)
  }

  return {
    get: (id: string): number => sums.get(id) ?? 0,
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
