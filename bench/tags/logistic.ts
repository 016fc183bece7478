/** The features of a candidate, and whether people gave it as a tag. */
export type TrainingExample = { readonly values: readonly number[]; readonly isTag: boolean }

const ROUNDS = 8

/**
 * Weights of a logistic regression with ridge penalty, by Newton's method; the same examples give
 * the same weights.
 */
export const fitLogistic = (examples: readonly TrainingExample[], penalty: number): number[] => {
  const size = examples[0]?.values.length ?? 0
  let weights = Array.from({ length: size }, () => 0)
  for (let round = 0; round < ROUNDS; round++) {
    const { gradient, curvature } = sumUp(examples, weights)
    for (let at = 0; at < size; at++) {
      // The first value is always 1. Its weight follows the frequency of tags, and has hardly any
      // penalty.
      const own = at === 0 ? 1e-6 : penalty
      gradient[at] = (gradient[at] ?? 0) - own * (weights[at] ?? 0)
      const row = curvature[at]
      if (row) row[at] = (row[at] ?? 0) + own
    }
    const step = solve(curvature, gradient)
    weights = weights.map((weight, at) => weight + (step[at] ?? 0))
  }
  return weights
}

const sumUp = (
  examples: readonly TrainingExample[],
  weights: readonly number[],
): { gradient: number[]; curvature: Float64Array[] } => {
  const size = weights.length
  const gradient = Array.from({ length: size }, () => 0)
  const curvature = Array.from({ length: size }, () => new Float64Array(size))
  for (const { values, isTag } of examples) {
    // Most values are zero.
    const places = values.flatMap((value, at) => (value === 0 ? [] : [at]))
    let score = 0
    for (const at of places) score += (weights[at] ?? 0) * (values[at] ?? 0)
    const probability = 1 / (1 + Math.exp(-score))
    const slope = probability * (1 - probability)
    for (const at of places) {
      const value = values[at] ?? 0
      gradient[at] = (gradient[at] ?? 0) + value * ((isTag ? 1 : 0) - probability)
      const row = curvature[at] as Float64Array
      for (const other of places) row[other] = (row[other] ?? 0) + slope * value * (values[other] ?? 0)
    }
  }
  return { gradient, curvature }
}

/** Gaussian elimination with pivots. */
const solve = (matrix: readonly Float64Array[], right: readonly number[]): number[] => {
  const size = right.length
  const rows = matrix.map((row, at) => Float64Array.from([...row, right[at] ?? 0]))
  const cell = (row: number, column: number): number => rows[row]?.[column] ?? 0
  for (let at = 0; at < size; at++) {
    let best = at
    for (let row = at + 1; row < size; row++) if (Math.abs(cell(row, at)) > Math.abs(cell(best, at))) best = row
    const pivot = rows[best] ?? new Float64Array(size + 1)
    rows[best] = rows[at] ?? pivot
    rows[at] = pivot
    if (Math.abs(pivot[at] ?? 0) < 1e-12) continue
    for (let row = 0; row < size; row++) {
      const factor = row === at ? 0 : cell(row, at) / (pivot[at] ?? 1)
      if (factor === 0) continue
      const target = rows[row] as Float64Array
      for (let column = at; column <= size; column++)
        target[column] = (target[column] ?? 0) - factor * (pivot[column] ?? 0)
    }
  }
  return right.map((_, at) => (Math.abs(cell(at, at)) < 1e-12 ? 0 : cell(at, size) / cell(at, at)))
}
