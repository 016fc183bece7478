import * as v from 'valibot'
import { about, externalId, object, shortText } from './fields.ts'
import { canonicalEmail, hasEmail } from './identity/keys.ts'

/** An email of a purge. A text that is no address is no key, so it would match no contact. */
const emailToPurge = v.pipe(
  shortText,
  v.check(
    (value) => !hasEmail(value) || canonicalEmail(value) !== undefined,
    'an email address, such as kate@acme.example',
  ),
)

/** Body of purge-contact. An email that is blank or a placeholder counts as absent. */
export const purgeRequest = v.pipe(
  object({
    id: about(v.nullish(externalId), 'The id that a source system gave the contact. A placeholder is refused.'),
    email: about(
      v.nullish(emailToPurge),
      'Email address of the contact, compared in canonical form. A text that is no address is refused.',
    ),
    source: about(
      v.nullish(shortText),
      'The only source system to search. If absent or null, all source systems are searched.',
    ),
  }),
  v.check(
    ({ id, email }) => id != null || hasEmail(email ?? ''),
    'an object with an `id` or an `email` that is neither blank nor a placeholder such as null or undefined',
  ),
  v.description(
    'The contacts to delete: all that match the `id` or the `email`. One of the two is required. An email that is ' +
      'blank or a placeholder counts as absent.',
  ),
)
export type PurgeRequest = v.InferOutput<typeof purgeRequest>
