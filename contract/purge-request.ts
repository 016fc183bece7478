import * as v from 'valibot'
import { about, externalId, object, shortText } from './fields.ts'
import { canonicalEmail } from './identity/keys.ts'

/** Body of purge-contact. An email that is blank or a placeholder counts as absent. */
export const purgeRequest = v.pipe(
  object({
    id: about(v.nullish(externalId), 'The id that a source system gave the contact. A placeholder is refused.'),
    email: about(v.nullish(shortText), 'Email address of the contact, compared in canonical form.'),
    source: about(v.nullish(shortText), 'Searches this source system alone. If absent or null, all are searched.'),
  }),
  v.check(
    ({ id, email }) => id != null || canonicalEmail(email ?? '') !== undefined,
    'an object with an `id` or an `email` that is neither blank nor a placeholder such as null or undefined',
  ),
  v.description(
    'Which contacts to delete: by id, by email, or all that match either of them. One of the two is required; an email ' +
      'that is blank or a placeholder does not count.',
  ),
)
export type PurgeRequest = v.InferOutput<typeof purgeRequest>
