import lists from './data/subjects.json' with { type: 'json' }
import { toSet } from './english-words.ts'
import { LATIN, type Lexicon, traitsOf } from './lexicon.ts'
import { singular } from './word-endings.ts'

/**
 * What a tag is about. `words`: its words in one form, one word for words of the same meaning, and
 * without general words. `isPlain`: the tag is one word from the lists of common topics of feedback.
 */
export type TagSubject = { readonly words: readonly string[]; readonly isPlain: boolean }

/** Words that alone are no subject, such as `option`, and words between the parts of a tag. */
const EMPTY = new Set([
  ...toSet(lists.general),
  ...LATIN.flatMap(({ joiners, determiners, places }) => [...joiners, ...determiners, ...places]),
])
const SAME = new Map(
  lists.same.flatMap((line) => {
    const words = line.split(' ')
    return words.map((word): [string, string] => [word, words[0] ?? word])
  }),
)

/** The words of the subject follow from the title alone, in all languages. */
export const subjectWords = (title: string): string[] => {
  const words = splitTitle(title).map((word) => {
    const form = singular(word)
    return SAME.get(form) ?? form
  })
  return [...new Set(words.filter((word) => !EMPTY.has(word)))]
}

export const subjectOf = (title: string, lexicon: Lexicon): TagSubject => {
  const [word = '', ...others] = splitTitle(title)
  return { words: subjectWords(title), isPlain: others.length === 0 && traitsOf(lexicon, word).isListed }
}

const splitTitle = (title: string): string[] =>
  title
    .toLowerCase()
    .split(' ')
    .filter((word) => word !== '')
