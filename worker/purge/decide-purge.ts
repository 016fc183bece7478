import { canonicalEmail } from '../../contract/identity/canonical.ts'
import { choosePurged } from '../../contract/identity/choose-purged.ts'
import { contactIdKey, emailKey } from '../../contract/identity/keys.ts'
import type { HashKey, Realm } from '../../contract/identity/own-id.ts'
import type { PurgeRequest } from '../../contract/purge-request.ts'
import type { PurgeIdentifiers } from '../../contract/receipt.ts'
import type { SubmissionOf } from '../../contract/submission.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { loadPurge } from '../../db/purges/load-purge.ts'
import { type PurgeOutcome, savePurge } from '../../db/purges/purge.ts'

/**
 * Decides a purge in its place in the log. All earlier submissions are applied, and records of
 * merged contacts are moved. `busy`: another worker has moved the position, or the workspace is
 * deleted.
 */
export const decidePurge = async (
  { sql, hashKey }: { sql: Sql; hashKey: HashKey },
  submission: SubmissionOf<'purge_contact'>,
  position: number,
): Promise<PurgeOutcome> => {
  const { workspaceId, submissionId, number, originalNumber, body, idempotency } = submission
  const realm = { hashKey, workspaceId }
  const loaded = await loadPurge(sql, realm, body)
  if (loaded?.position !== position) return 'busy'
  return savePurge(sql, {
    workspaceId,
    submissionId,
    number,
    acceptanceNumber: originalNumber ?? number,
    identifiers: identifiersOf(realm, body),
    idempotency,
    loaded,
    chosen: choosePurged(realm, body, loaded.candidates),
  })
}

const identifiersOf = (realm: Realm, { id, email }: PurgeRequest): PurgeIdentifiers => {
  const address = canonicalEmail(email ?? '')
  return {
    id: id == null ? null : contactIdKey(realm, id),
    email: address === undefined ? null : emailKey(realm, address),
  }
}
