/** Random numbers that a seed determines, for the simulation. */
export type Random = { next: () => number; poisson: (mean: number) => number }

export const createRandom = (seed: number): Random => {
  let state = seed >>> 0
  // Mulberry32.
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const poisson = (mean: number): number => {
    if (mean > 30) return Math.max(0, Math.round(mean + Math.sqrt(mean) * gaussian({ next, poisson })))
    let [count, product] = [0, next()]
    for (const least = Math.exp(-mean); product > least; count++) product *= next()
    return count
  }
  return { next, poisson }
}

export const gaussian = ({ next }: Random): number =>
  Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next())

/** Shares of so many things by Zipf's law. */
export const zipf = (count: number): number[] => {
  const parts = Array.from({ length: count }, (_, at) => 1 / (at + 1))
  const all = parts.reduce((sum, part) => sum + part, 0)
  return parts.map((part) => part / all)
}

/** One of the names, each by its weight. */
export const drawFrom = ({ next }: Random, weights: ReadonlyMap<string, number>): string => {
  let left = next() * [...weights.values()].reduce((sum, weight) => sum + weight, 0)
  for (const [name, weight] of weights) {
    left -= weight
    if (left < 0) return name
  }
  return [...weights.keys()].at(-1)!
}
