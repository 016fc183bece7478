import * as v from 'valibot'
import { about, externalId, object, shortText } from './fields.ts'
import { canonicalEmail } from './identity/keys.ts'

/** Body of purge-contact. An email that is blank or a placeholder counts as absent. */
export const purgeRequest = v.pipe(
  object({
    id: about(v.nullish(externalId), 'The id that a source system gave the contact. A placeholder is refused.'),
    email: about(v.nullish(shortText), 'Email address of the contact, compared in canonical form.'),
    source: about(
      v.nullish(shortText),
      'The only source system to search. If absent or null, all source systems are searched.',
    ),
  }),
  v.check(
    ({ id, email }) => id != null || canonicalEmail(email ?? '') !== undefined,
    'an object with an `id` or an `email` that is neither blank nor a placeholder such as null or undefined',
  ),
  v.description(
    'The contacts to delete: all that match the `id` or the `email`. One of the two is required. An email that is ' +
      'blank or a placeholder counts as absent.',
  ),
)
export type PurgeRequest = v.InferOutput<typeof purgeRequest>
