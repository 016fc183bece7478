import type { Point } from './point.ts'

/** `trouble`: a worker or queue stops, or all submissions are refused. `attention`: other faults. */
export type Finding = { level: 'trouble' | 'attention'; what: string; remedy: string }

/** The input of `judge`. */
export type Evidence = {
  /** Ascending by time. */
  points: readonly Point[]
  /** The bound for which submissions are refused at this moment. Undefined below both bounds. */
  pressure: 'redis-memory' | 'backlog' | undefined
}

/**
 * Some states often pass without a repair. They are a finding if they hold at this many points in a
 * row.
 */
export const POINTS_TO_LAST = 3

export const when = <const Found>(applies: boolean, finding: Found): Found[] => (applies ? [finding] : [])

export const lasts = (points: readonly Point[], inARow: number, holds: (point: Point) => boolean): boolean =>
  points.length >= inARow && points.slice(-inARow).every(holds)

export const above = (value: number | null, bound: number): boolean => value !== null && value > bound

export const count = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`
