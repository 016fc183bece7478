import * as v from 'valibot'
import { about, amount, object, text } from './fields.ts'
import { MAX_IDENTIFIER_CHARACTERS } from './limits.ts'

export const NO_SCALE = 'two numbers, the first one less'
export const MISPLACED_LINK = 'an address of http or https that contains {sourceId}'
const MOST_LINK_CHARACTERS = 2_000

export const isScale = ([low, high]: [number, number]): boolean => low < high

export const isSourceLink = (link: string): boolean =>
  link.length <= MOST_LINK_CHARACTERS && link.includes('{sourceId}') && /^https?:\/\/[^\s/{]/.test(link)

export const NO_SOURCE = `text of 1 to ${MAX_IDENTIFIER_CHARACTERS} characters, not blank`

/** Whether feedback can have a source of this name. */
export const isSourceName = (name: string): boolean =>
  name.trim() !== '' && !name.includes('\0') && [...name].length <= MAX_IDENTIFIER_CHARACTERS

/** The body of PUT /sources/{source}. */
export const sourceSettings = object(
  {
    scale: about(
      v.optional(v.nullable(v.pipe(v.strictTuple([amount, amount], NO_SCALE), v.check(isScale, NO_SCALE)))),
      'The ratings that mean "as bad as possible" and "as good as possible". Null: the ratings have no such meaning. ' +
        'Absent: 20 ratings show the scale, 1 to 5 or 0 to 10.',
    ),
    link: about(
      v.optional(v.nullable(v.pipe(text, v.check(isSourceLink, MISPLACED_LINK)))),
      'The address of a record in its source, with `{sourceId}` in place of its id.',
    ),
  },
  { description: 'The settings of a source. They replace all of its settings.' },
)
export type SourceSettings = v.InferOutput<typeof sourceSettings>
