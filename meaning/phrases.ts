import type { Token } from '../tagger/tokens.ts'

/** The most words of a phrase in a list. */
const MOST_WORDS = 3

/** A list of words and phrases; `_` joins the words of a phrase. */
export const toPhrases = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => line.split(' ')).map((phrase) => phrase.replaceAll('_', ' '))

/** How many phrases of one to three words the tokens have. */
export const countPhrases = (tokens: readonly Token[], phrases: ReadonlySet<string>): number => {
  let found = 0
  for (let start = 0; start < tokens.length; start++) {
    let phrase = ''
    for (let end = start; end < start + MOST_WORDS; end++) {
      const token = tokens[end]
      if (token?.kind !== 'word') break
      phrase += end === start ? token.text : ` ${token.text}`
      if (phrases.has(phrase)) found++
    }
  }
  return found
}

/** How many of the phrases a text without spaces has; the longest at each place counts. */
export const findPhrases = (
  text: string,
  phrases: { has: (phrase: string) => boolean },
  longest: number,
): [at: number, phrase: string][] => {
  const found: [number, string][] = []
  for (let at = 0; at < text.length;) {
    let length = Math.min(longest, text.length - at)
    while (length > 0 && !phrases.has(text.slice(at, at + length))) length--
    if (length > 0) found.push([at, text.slice(at, at + length)])
    at += Math.max(1, length)
  }
  return found
}
