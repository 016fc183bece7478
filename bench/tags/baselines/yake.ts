import { FUNCTION_WORDS } from './function-words.ts'

const MAX_TAGS = 5
const MAX_WORDS = 3

type Term = { count: number; upper: number; sentences: number[]; left: string[]; right: string[] }

/**
 * YAKE (Campos, Mangaravite, Pasquali, Jorge, Nunes, Jatowt 2020): five statistics of a word, the
 * lower the better.
 */
export const yake = (text: string): string[] => {
  const sentences = text
    .split(/[.!?\n]+/)
    .map((sentence) => sentence.match(/[\p{L}\p{N}'-]+/gu) ?? [])
    .filter((sentence) => sentence.length > 0)
  const scores = scoreWords(sentences)
  const phrases = new Map<string, { count: number; product: number; sum: number }>()
  for (const sentence of sentences) {
    const words = sentence.map((word) => word.toLowerCase())
    words.forEach((_, start) => {
      for (let length = 1; length <= MAX_WORDS && start + length <= words.length; length++) {
        const phrase = words.slice(start, start + length)
        if (FUNCTION_WORDS.has(phrase[0] ?? '') || FUNCTION_WORDS.has(phrase.at(-1) ?? '')) continue
        const known = phrases.get(phrase.join(' '))
        if (known) known.count++
        else phrases.set(phrase.join(' '), { count: 1, ...scorePhrase(phrase, scores) })
      }
    })
  }
  return [...phrases]
    .map(([phrase, { count, product, sum }]) => ({ phrase, score: product / (count * (1 + sum)) }))
    .sort((one, other) => one.score - other.score)
    .slice(0, MAX_TAGS)
    .map(({ phrase }) => phrase)
}

const scorePhrase = (
  phrase: readonly string[],
  scores: ReadonlyMap<string, number>,
): { product: number; sum: number } => {
  const values = phrase.filter((word) => !FUNCTION_WORDS.has(word)).map((word) => scores.get(word) ?? 1)
  return {
    product: values.reduce((product, value) => product * value, 1),
    sum: values.reduce((sum, value) => sum + value, 0),
  }
}

const scoreWords = (sentences: readonly string[][]): Map<string, number> => {
  const terms = collectTerms(sentences)
  const counts = [...terms].filter(([word]) => !FUNCTION_WORDS.has(word)).map(([, { count }]) => count)
  const mean = counts.reduce((sum, count) => sum + count, 0) / (counts.length || 1)
  const deviation = Math.sqrt(counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / (counts.length || 1))
  const most = Math.max(1, ...[...terms.values()].map(({ count }) => count))
  return new Map(
    [...terms].map(([word, term]) => {
      const casing = term.upper / (1 + Math.log(term.count))
      const position = Math.log(Math.log(3 + median(term.sentences)))
      const frequency = term.count / (mean + deviation || 1)
      const spread = (side: readonly string[]): number => (side.length === 0 ? 0 : new Set(side).size / side.length)
      const relatedness = 1 + (spread(term.left) + spread(term.right)) * (term.count / most)
      const sentenceShare = new Set(term.sentences).size / sentences.length
      const score = (relatedness * position) / (casing + frequency / relatedness + sentenceShare / relatedness)
      return [word, score]
    }),
  )
}

const collectTerms = (sentences: readonly string[][]): Map<string, Term> => {
  const terms = new Map<string, Term>()
  sentences.forEach((sentence, index) => {
    sentence.forEach((written, at) => {
      const word = written.toLowerCase()
      const term = terms.get(word) ?? { count: 0, upper: 0, sentences: [], left: [], right: [] }
      terms.set(word, term)
      term.count++
      if (at > 0 && written !== word) term.upper++
      term.sentences.push(index)
      if (at > 0) term.left.push((sentence[at - 1] ?? '').toLowerCase())
      if (at + 1 < sentence.length) term.right.push((sentence[at + 1] ?? '').toLowerCase())
    })
  })
  return terms
}

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((one, other) => one - other)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}
