import * as v from 'valibot'
import { about, flag, list, object, ownId, textOfAtMost } from './fields.ts'
import type { JsonObject } from './json.ts'
import { MAX_THEME_FEEDBACKS, MAX_TAG_CHARACTERS } from './limits.ts'

const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u
const name = v.pipe(
  textOfAtMost(MAX_TAG_CHARACTERS),
  v.check((value) => VISIBLE.test(value), 'a string that is not blank'),
  v.transform((value) => value.trim()),
)
const idsOfFeedback = (description: string) =>
  about(list(ownId, MAX_THEME_FEEDBACKS, 'own ids of feedback'), description)

/** Body of POST /themes. */
export const newTheme = object(
  {
    name: about(name, 'The name.'),
    feedbackIds: about(
      v.pipe(idsOfFeedback(''), v.minLength(1, 'an array with at least one id')),
      'Own ids of feedback that a person puts into it: at least one that exists.',
    ),
  },
  { description: 'A theme that a person makes from feedback.' },
)
export type NewTheme = v.InferOutput<typeof newTheme>

/** The members of a theme that people can edit. */
const EDITABLE = {
  name: about(v.nullish(name), 'The name. Null: the tag that names it.'),
  isHidden: about(v.nullish(flag), 'Hides the theme from counts and reports. Null is the same as false.'),
  mergedInto: about(
    v.nullish(ownId),
    'Own id of another theme. All texts of this theme, past and future, count among its texts. Null ends the merge.',
  ),
} as const
const PLACED = {
  feedbackIds: about(v.nullish(idsOfFeedback('')), 'Own ids of feedback that a person puts into the theme.'),
  removedFeedbackIds: about(
    v.nullish(idsOfFeedback('')),
    'Own ids of feedback that gets the theme back that the service has given it. None of them may be in `feedbackIds`.',
  ),
} as const
const MEMBERS = [...Object.keys(EDITABLE), ...Object.keys(PLACED)]

const RULES = {
  description: 'What a person changes of a theme: at least one member.',
  check: (record: JsonObject) => {
    if (!MEMBERS.some((member) => record[member] !== undefined))
      return [{ path: [], expected: `an object with ${MEMBERS.join(', ')} or several of them` }]
    const isOwn = record['id'] !== undefined && record['mergedInto'] === record['id']
    const { feedbackIds, removedFeedbackIds } = record
    const isBoth =
      Array.isArray(feedbackIds) &&
      Array.isArray(removedFeedbackIds) &&
      feedbackIds.some((each) => removedFeedbackIds.includes(each))
    return [
      ...(isOwn ? [{ path: ['mergedInto'], expected: 'the id of another theme' }] : []),
      ...(isBoth ? [{ path: ['removedFeedbackIds'], expected: 'without the ids of feedbackIds' }] : []),
    ]
  },
}

/** Body of PATCH /themes/{id}. The path has the id. */
export const themeEditRequest = object({ ...EDITABLE, ...PLACED }, RULES)
/** Body of an edit. `id`: the own id of the theme. */
export const themeEdit = object({ id: ownId, ...EDITABLE, ...PLACED }, RULES)
export type ThemeEdit = v.InferOutput<typeof themeEdit>
