import type { Token } from '../tagger/tokens.ts'

/** Words and phrases with a value, and how long the phrases are that begin with a word or character. */
export type PhraseList = {
  readonly values: ReadonlyMap<string, number>
  /** The most words of a phrase by its first word. */
  readonly words: ReadonlyMap<string, number>
  /** The most characters of a phrase by its first character. */
  readonly characters: ReadonlyMap<string, number>
}

/** A list of words and phrases; `_` joins the words of a phrase. */
export const toPhrases = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => line.split(' ')).map((phrase) => phrase.replaceAll('_', ' '))

export const toPhraseList = (values: ReadonlyMap<string, number>): PhraseList => {
  const words = new Map<string, number>()
  const characters = new Map<string, number>()
  for (const phrase of values.keys()) {
    const [first = '', ...rest] = phrase.split(' ')
    words.set(first, Math.max(words.get(first) ?? 0, 1 + rest.length))
    const start = phrase.charAt(0)
    characters.set(start, Math.max(characters.get(start) ?? 0, phrase.length))
  }
  return { values, words, characters }
}

/** How many phrases the first `most` tokens have, also one inside another. */
export const countPhrases = (tokens: readonly Token[], list: PhraseList, most = tokens.length): number => {
  let found = 0
  for (let start = 0; start < most; start++) {
    const longest = list.words.get(wordAt(tokens, start)) ?? 0
    let phrase = ''
    for (let end = start; end < Math.min(most, start + longest); end++) {
      const word = wordAt(tokens, end)
      if (word === '') break
      phrase += end === start ? word : ` ${word}`
      if (list.values.has(phrase)) found++
    }
  }
  return found
}

const wordAt = (tokens: readonly Token[], at: number): string => {
  const token = tokens[at]
  return token?.kind === 'word' ? token.text : ''
}

/** The phrases of a text without spaces; the longest at each place, none inside another. */
export const findPhrases = (text: string, { values, characters }: PhraseList): { at: number; phrase: string }[] => {
  const found: { at: number; phrase: string }[] = []
  for (let at = 0; at < text.length;) {
    let length = characters.get(text.charAt(at)) ?? 0
    while (length > 0 && !values.has(text.slice(at, at + length))) length--
    if (length > 0) found.push({ at, phrase: text.slice(at, at + length) })
    at += Math.max(1, length)
  }
  return found
}
