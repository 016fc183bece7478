/** A text that a person placed: its terms and its theme. */
type PlacedExample = { readonly terms: readonly number[]; readonly theme: number }

/** The theme of a text by examples, with its probability. */
type LikeExamples = { readonly theme: number; readonly probability: number }

/** From this probability on, a text may be moved. */
export const SURE_PLACE = 0.51
const PASSES = 20
const RATE = 0.5
/** Keeps weights of rare terms small. */
const DECAY = 0.0005

type ExampleModel = { readonly themes: readonly number[]; readonly weights: Map<number, Float64Array> }

/**
 * Fits a logistic score on the texts that people placed. The order of the examples decides nothing but
 * the last digits: the caller gives them in the order of their numbers, so a repetition is the same.
 * Undefined if there are fewer than two themes.
 */
export const fitExamples = (
  examples: readonly PlacedExample[],
): ((terms: readonly number[]) => LikeExamples) | undefined => {
  const themes = [...new Set(examples.map(({ theme }) => theme))].toSorted((a, b) => a - b)
  if (themes.length < 2) return undefined
  const model: ExampleModel = { themes, weights: new Map() }
  const seen = new Map<number, Float64Array>()
  for (let pass = 0; pass < PASSES; pass++) for (const example of inTurns(examples)) learn(model, seen, example)
  return (terms) => {
    const shares = sharesOf(model, terms)
    const at = shares.indexOf(Math.max(...shares))
    return { theme: themes[at]!, probability: shares[at]! }
  }
}

/** Takes an example of each theme in turn, so that no theme is the last one for long. */
const inTurns = (examples: readonly PlacedExample[]): PlacedExample[] => {
  const groups = [...Map.groupBy(examples, ({ theme }) => theme).values()]
  const most = Math.max(...groups.map(({ length }) => length))
  return Array.from({ length: most }, (_, at) => groups.flatMap((group) => group[at] ?? [])).flat()
}

const learn = (
  { themes, weights }: ExampleModel,
  seen: Map<number, Float64Array>,
  { terms, theme }: PlacedExample,
): void => {
  const shares = sharesOf({ themes, weights }, terms)
  const scale = scaleOf(terms)
  for (const term of terms) {
    const weight = weights.get(term) ?? new Float64Array(themes.length)
    const squares = seen.get(term) ?? new Float64Array(themes.length).fill(1e-4)
    weights.set(term, weight)
    seen.set(term, squares)
    for (let at = 0; at < themes.length; at++) {
      const step = ((themes[at] === theme ? 1 : 0) - shares[at]!) * scale - DECAY * weight[at]!
      squares[at]! += step * step
      weight[at]! += (RATE * step) / Math.sqrt(squares[at]!)
    }
  }
}

const scaleOf = (terms: readonly number[]): number => 1 / Math.sqrt(Math.max(1, terms.length))

const sharesOf = ({ themes, weights }: ExampleModel, terms: readonly number[]): number[] => {
  const scores = themes.map(() => 0)
  for (const term of terms) {
    const weight = weights.get(term)
    if (weight !== undefined) for (let at = 0; at < scores.length; at++) scores[at]! += weight[at]!
  }
  const scale = scaleOf(terms)
  const top = Math.max(...scores)
  const powers = scores.map((score) => Math.exp((score - top) * scale))
  const sum = powers.reduce((a, b) => a + b, 0)
  return powers.map((power) => power / sum)
}
