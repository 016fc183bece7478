import type { Condition, ReadCondition } from '../../../health/condition.ts'
import { type Point, pointOf } from '../../../health/point.ts'

type History = {
  /** Oldest first. */
  points: () => readonly Point[]
  stop: () => void
}

export const SAMPLE_EVERY_SECONDS = 5
/** Twenty minutes. */
const POINTS_KEPT = 240

/** Keeps the points of the last minutes, so that the overview has curves as soon as it opens. */
export const keepHistory = (readCondition: ReadCondition): History => {
  const points: Point[] = []
  let before: Condition | undefined
  let isSampling = false
  const sample = async (): Promise<void> => {
    if (isSampling) return
    isSampling = true
    const condition = await readCondition()
    points.push(pointOf(condition, before))
    if (points.length > POINTS_KEPT) points.shift()
    before = condition
    isSampling = false
  }
  void sample()
  const timer = setInterval(() => void sample(), SAMPLE_EVERY_SECONDS * 1_000)
  return { points: () => points, stop: () => clearInterval(timer) }
}
