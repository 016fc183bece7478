import * as v from 'valibot'
import { externalId, object, shortText } from './fields.ts'
import { canonicalEmail } from './identity/canonical.ts'

/** Body of purge-contact. An email that is blank or a placeholder counts as absent. */
export const purgeRequest = v.pipe(
  object({
    id: v.nullish(externalId),
    email: v.nullish(shortText),
    source: v.nullish(shortText),
  }),
  v.check(
    ({ id, email }) => id != null || canonicalEmail(email ?? '') !== undefined,
    'an object with an `id` or an `email` that is neither blank nor a placeholder such as null or undefined',
  ),
)
export type PurgeRequest = v.InferOutput<typeof purgeRequest>
