import * as v from 'valibot'
import { about, amount, list, object, text } from './fields.ts'
import { MAX_IDENTIFIER_CHARACTERS, MAX_WORKSPACE_FIELDS } from './limits.ts'

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

const NO_FIELD_NAME = '1 to 64 letters of English, digits, _ and -, beginning with a letter'
const NO_FIELD_PATH = 'the name of a member, or names of nested members with dots between, in 1 to 512 characters'
export const TOO_MANY_FIELDS = `at most ${MAX_WORKSPACE_FIELDS} names in all sources of the workspace`
export const FIELD_OWNERS = ['feedback', 'contact', 'account'] as const

export const isFieldName = (name: string): boolean => /^[a-z][\w-]{0,63}$/i.test(name)
export const isFieldPath = (path: string): boolean =>
  path !== '' && !path.includes('\0') && [...path].length <= MAX_IDENTIFIER_CHARACTERS
export const hasTwice = (names: readonly string[]): boolean => new Set(names).size < names.length

export const declaredField = object(
  {
    name: about(
      v.pipe(text, v.check(isFieldName, NO_FIELD_NAME)),
      'The name of the field in reads, as in `field.plan=trial`. Sources can give fields the same name.',
    ),
    path: about(
      v.pipe(text, v.check(isFieldPath, NO_FIELD_PATH)),
      'The member of `sourceData` or `properties` with the value, such as `plan`, or `user.plan` for `plan` inside `user`.',
    ),
    of: about(
      v.picklist(FIELD_OWNERS, FIELD_OWNERS.join(', ')),
      'The record with the member: `sourceData` of the feedback, or `properties` of its contact or account. A field of a ' +
        'contact or account is read in the feedback of every source that does not declare the name itself.',
    ),
  },
  { description: 'A declared field.' },
)

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
    fields: about(
      v.optional(
        v.pipe(
          list(declaredField, MAX_WORKSPACE_FIELDS, 'fields'),
          v.check((fields) => !hasTwice(fields.map(({ name }) => name)), 'fields with different names'),
        ),
      ),
      'The fields by which feedback can be filtered and counted.',
    ),
  },
  { description: 'The settings of a source. They replace all of its settings.' },
)
export type SourceSettings = v.InferOutput<typeof sourceSettings>
export type DeclaredField = v.InferOutput<typeof declaredField>
