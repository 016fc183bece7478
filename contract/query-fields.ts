import * as v from 'valibot'
import { asUuid } from './identity/keys.ts'
import { MAX_IDENTIFIER_CHARACTERS } from './limits.ts'
import { MOST_SEARCHED_WORDS, parseSearch } from './search.ts'

// The kinds of field that reads are asked with. A description stands before the first
// transformation, so that the JSON Schemas of input and output both have it. Tools of agents use
// the input, the reference the output.

export const textOfAtMost = (characters: number, description: string) =>
  v.pipe(
    v.string('a string'),
    v.description(description),
    v.check(
      (value) => value !== '' && !value.includes('\0') && [...value].length <= characters,
      `text of 1 to ${characters} characters`,
    ),
    v.metadata({ minLength: 1, maxLength: characters }),
  )

export const identifier = (description: string) => textOfAtMost(MAX_IDENTIFIER_CHARACTERS, description)

export const ownId = (description: string) =>
  v.pipe(
    v.string('a string'),
    v.description(description),
    v.check((value) => asUuid(value) !== undefined, 'an id of this service'),
    v.metadata({ format: 'uuid' }),
    v.transform((value) => asUuid(value)!),
  )

/** The words of a search (`parseSearch`). */
export const words = (description: string) =>
  v.pipe(
    identifier(description),
    v.transform(parseSearch),
    v.check((search) => search !== undefined, `1 to ${MOST_SEARCHED_WORDS} words of letters or digits`),
    v.transform((search) => search!),
  )
