// How rare a number of people is by chance, as natural logarithms: the allowed rates are far below
// what a sum of probabilities can hold.

/** Terms that are smaller than this share of the sum change nothing. */
const NEGLIGIBLE = 1e-6

/** The probability of at least `hits` hits among `tries`, where each hits with `chance`. */
export const logTailOfBinomial = (hits: number, tries: number, chance: number): number => {
  if (hits <= tries * chance) return 0
  const odds = chance / (1 - chance)
  const first =
    logFactorial(tries) -
    logFactorial(hits) -
    logFactorial(tries - hits) +
    hits * Math.log(chance) +
    (tries - hits) * Math.log1p(-chance)
  return first + Math.log(sumOfRatios(hits, tries, (hit) => ((tries - hit) / (hit + 1)) * odds))
}

/**
 * The same, where the chance is known from earlier tries alone: `hits` and `misses` of them, which
 * need not be whole numbers.
 */
export const logTailOfBetaBinomial = (hits: number, tries: number, known: { hits: number; misses: number }): number => {
  if (hits <= (tries * known.hits) / (known.hits + known.misses)) return 0
  let first = 0
  for (let at = 0; at < hits; at++) first += Math.log((tries - at) / (hits - at)) + Math.log(known.hits + at)
  for (let at = 0; at < tries - hits; at++) first += Math.log(known.misses + at)
  for (let at = 0; at < tries; at++) first -= Math.log(known.hits + known.misses + at)
  const ratio = (hit: number): number =>
    (((tries - hit) / (hit + 1)) * (known.hits + hit)) / (known.misses + tries - hit - 1)
  return first + Math.log(sumOfRatios(hits, tries, ratio))
}

/** 1 + r(hits) + r(hits) r(hits + 1) + …: all terms of a tail, as multiples of its first. */
const sumOfRatios = (hits: number, tries: number, ratio: (hit: number) => number): number => {
  let [sum, term] = [1, 1]
  for (let hit = hits; hit < tries && term > NEGLIGIBLE * sum; hit++) {
    term *= ratio(hit)
    sum += term
  }
  return sum
}

const STIRLING_FROM = 20
const SMALL = [0]
for (let at = 1; at < STIRLING_FROM; at++) SMALL.push(SMALL[at - 1]! + Math.log(at))

const logFactorial = (of: number): number =>
  SMALL[of] ?? (of + 0.5) * Math.log(of) - of + 0.5 * Math.log(2 * Math.PI) + 1 / (12 * of) - 1 / (360 * of ** 3)
