import { canonicalEmail } from '../contract/identity/canonical.ts'
import { contactIdKey, emailKey } from '../contract/identity/keys.ts'
import type { HashKey } from '../contract/identity/own-id.ts'
import type { PurgeRequest } from '../contract/purge-request.ts'
import { canPurgeMatch } from '../db/apply/answers.ts'
import type { Sql } from '../db/connection/postgres.ts'
import { withinTime } from '../runtime/within-time.ts'

export type CanPurgeMatch = (workspaceId: string, wanted: PurgeRequest) => Promise<boolean>

/**
 * Tells whether a purge can match stored data: a contact, a record that names the unknown external
 * id, or a dead submission.
 *
 * @throws when Postgres does not answer in time.
 */
export const createCanPurgeMatch =
  (sql: Sql, { hashKey, timeoutMs }: { hashKey: HashKey; timeoutMs: number }): CanPurgeMatch =>
  (workspaceId, { id, email: given, source }) => {
    const realm = { hashKey, workspaceId }
    const email = canonicalEmail(given ?? '')
    const keys = {
      externalKey: id == null ? null : contactIdKey(realm, id),
      email: email ?? null,
      emailKey: email === undefined ? null : emailKey(realm, email),
      source: source ?? null,
    }
    return withinTime(canPurgeMatch(sql, workspaceId, keys), timeoutMs)
  }
