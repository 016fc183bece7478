import type { PurgeRequest } from '../purge-request.ts'
import { comparableEmail, ownId, type Realm } from './own-id.ts'
import { contactGroup } from './reference.ts'

/** What a purge asks for, as keys: the group of its external id, and its email. Null is what it does not ask for. */
export type PurgeKeys = { group: string | null; email: string | null }

export const purgeKeys = (realm: Realm, { id, email }: Pick<PurgeRequest, 'id' | 'email'>): PurgeKeys => {
  const address = comparableEmail(email ?? '')
  return {
    group: id == null ? null : contactGroup(realm, id),
    email: address === undefined ? null : ownId(realm, 'contact_email', address),
  }
}
