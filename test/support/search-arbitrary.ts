import * as fc from 'fast-check'

/** Words of a search, each with forms that texts have. */
const WORDS = {
  export: ['export', 'Exports', 'EXPORTED', 'exporting'],
  card: ['card', 'Cards'],
  twice: ['twice', 'TWICE'],
  größe: ['Größe', 'GRÖßE'.normalize('NFD')],
  café: ['café', 'CAFE\u0301', 'ca\u00ADfé'],
  λόγος: ['λόγος', 'ΛΌΓΟΣ', 'λόγοσ'],
  file2: ['file2', 'ﬁle②'],
  検索: ['検索'],
  遅い: ['遅い'],
} as const
type Word = keyof typeof WORDS
const words = Object.keys(WORDS) as Word[]
/** Function words, by which each text is in English. */
export const START = 'The people here say that it is not what they want and this was the'

const word = fc.constantFrom(...words)
const form = word.chain((each) => fc.constantFrom(...WORDS[each]).map((text) => ({ word: each, text })))
const person = fc.constantFrom('ada', 'bob', 'eve')
/** A step of a history that changes what a search finds. */
export const searchStep = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('feedback' as const),
      person,
      sourceId: fc.option(fc.constantFrom('1', '2', '3'), { nil: undefined }),
      tags: fc.constantFrom(undefined, [], ['given']),
      text: fc.array(form, { maxLength: 4 }),
      title: fc.option(form, { nil: undefined }),
      day: fc.option(fc.integer({ min: 1, max: 28 }), { nil: undefined }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('tag' as const), isLate: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('conversation' as const),
      id: fc.constantFrom('1', '2'),
      title: fc.option(form, { nil: undefined }),
      messages: fc.array(
        fc.record({
          person,
          id: fc.constantFrom('1', '2', '3'),
          text: fc.array(form, { maxLength: 3 }),
          incoming: fc.boolean(),
        }),
        { maxLength: 2 },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('purge' as const), person }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('correct' as const), tags: fc.constantFrom(null, [], ['given']) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('file' as const) }) },
)
const phrase = fc.array(word, { minLength: 2, maxLength: 3 })
const term = fc.oneof(
  word.map((each) => [each]),
  phrase,
)
/** All of these, each one of several terms. */
export const searched = fc.array(fc.array(term, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 3 })

export const textOf = (parts: readonly (readonly (readonly Word[])[])[]): string =>
  parts.map((terms) => terms.map((row) => (row.length > 1 ? `"${row.join(' ')}"` : row[0]!)).join(' or ')).join(' ')

/** The words of a stored text, found by their forms alone. */
export const wordsIn = (text: string): (Word | undefined)[] =>
  text.split(/\s+/).map((given) => words.find((each) => (WORDS[each] as readonly string[]).includes(given)))

export const hasRow = (text: readonly (Word | undefined)[], row: readonly Word[]): boolean =>
  text.some((_, start) => row.every((each, at) => text[start + at] === each))
