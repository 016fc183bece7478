import * as v from 'valibot'
import { about, amount, flag, list, object, ownId, textOfAtMost } from './fields.ts'
import type { JsonObject } from './json.ts'
import { TEXT_KINDS } from './kinds-of-texts.ts'
import { MAX_TAG_CHARACTERS, MAX_TAGS } from './limits.ts'

/** The members of a feedback that people can correct. */
const CORRECTABLE = {
  tags: about(
    v.nullish(list(textOfAtMost(MAX_TAG_CHARACTERS), MAX_TAGS, 'tags')),
    'The tags, stored as written, but trimmed, and without blank ones and duplicates. An empty array means no tags. Null: ' +
      'the tags that the source sent, or else generated ones.',
  ),
  kind: about(
    v.nullish(v.picklist(TEXT_KINDS, TEXT_KINDS.join(', '))),
    'What the text is. Null: as the service finds it.',
  ),
  themeId: about(v.nullish(ownId), 'Own id of a theme. Null: the theme that the service has given it.'),
  rating: about(v.nullish(amount), 'The score. Null: the rating that the source sent.'),
  isHidden: about(
    v.nullish(flag),
    'Hides the feedback from counts, reports and agents, and from lists that do not ask for it. Null is the same as false.',
  ),
} as const
const MEMBERS = Object.keys(CORRECTABLE) as (keyof typeof CORRECTABLE)[]

const RULES = {
  description:
    'What a person sets on a feedback: at least one member. It stays when the source sends the record again. Null gives the ' +
    'member back to the source or the service.',
  check: (record: JsonObject) =>
    MEMBERS.some((member) => record[member] !== undefined)
      ? []
      : [{ path: [], expected: `an object with ${MEMBERS.join(', ')} or several of them` }],
}

/** Body of a correction in a request. The path has the id. */
export const correctionRequest = object(CORRECTABLE, RULES)

/** Body of a correction. `id`: the own id of the feedback. */
export const correction = object({ id: ownId, ...CORRECTABLE }, RULES)
export type Correction = v.InferOutput<typeof correction>

/** The body of a deletion. `id`: the own id of the feedback. */
export const deletion = object({ id: ownId })
export type Deletion = v.InferOutput<typeof deletion>
