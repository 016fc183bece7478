import { FUNCTION_WORDS } from './function-words.ts'

const MAX_TAGS = 5

/**
 * RAKE (Rose, Engel, Cramer, Cowley 2010): runs of content words, scored by the degree of their
 * words over their frequency.
 */
export const rake = (text: string): string[] => {
  const phrases = text
    .toLowerCase()
    .split(/[^\p{L}\p{N}\s'-]+/u)
    .flatMap((clause) => toPhrases(clause.match(/[\p{L}\p{N}'-]+/gu) ?? []))
  const frequency = new Map<string, number>()
  const degree = new Map<string, number>()
  for (const word of phrases.flat()) frequency.set(word, (frequency.get(word) ?? 0) + 1)
  for (const phrase of phrases) {
    for (const word of phrase) degree.set(word, (degree.get(word) ?? 0) + phrase.length)
  }
  const scoreOf = (phrase: readonly string[]): number =>
    phrase.reduce((sum, word) => sum + (degree.get(word) ?? 0) / (frequency.get(word) ?? 1), 0)
  const scores = new Map(phrases.map((phrase) => [phrase.join(' '), scoreOf(phrase)]))
  return [...scores]
    .sort(([, one], [, other]) => other - one)
    .slice(0, MAX_TAGS)
    .map(([phrase]) => phrase)
}

const toPhrases = (words: readonly string[]): string[][] => {
  const phrases: string[][] = [[]]
  for (const word of words) {
    if (FUNCTION_WORDS.has(word)) phrases.push([])
    else phrases.at(-1)?.push(word)
  }
  return phrases.filter((phrase) => phrase.length > 0)
}
