import * as v from 'valibot'
import { identifier, object, shortText } from './fields.ts'
import { comparableEmail } from './identity/own-id.ts'

/** Body of purge-contact. A blank email counts as absent. */
export const purgeRequest = v.pipe(
  object({
    id: v.nullish(identifier),
    email: v.nullish(shortText),
    source: v.nullish(shortText),
  }),
  v.check(
    ({ id, email }) => id != null || comparableEmail(email ?? '') !== undefined,
    'an object with an `id` or an `email` that is not blank',
  ),
)
export type PurgeRequest = v.InferOutput<typeof purgeRequest>
