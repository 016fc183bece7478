import { sourcedContacts } from '../../contract/conversation-record.ts'
import { keysOfContact, keysOfExternalId, namedKeys } from '../../contract/identity/named-keys.ts'
import type { Realm } from '../../contract/identity/own-id.ts'
import type { Submission, SubmissionOf } from '../../contract/submission.ts'
import type { Sql } from '../connection/postgres.ts'

type Purge = { purgeId: string; keys: readonly string[] }

/**
 * Removes the contacts of a purge from dead submissions: a whole submission, or the contact's part
 * of a conversation with other contacts. Repeating it changes nothing.
 */
export const purgeDead = async (sql: Sql, realm: Realm, { purgeId, keys }: Purge): Promise<void> => {
  const { workspaceId } = realm
  const dead = await sql<{ id: string; submission: string }[]>`
    select id, submission from dead_submission
    where workspace_id = ${workspaceId} and keys && ${[...keys]}::uuid[]`
  const gone = new Set(keys)
  for (const { id, submission } of dead) {
    const left = withoutContacts(realm, JSON.parse(submission) as Submission, gone)
    const kept = left === undefined ? null : { submission: JSON.stringify(left), keys: namedKeys(realm, left) }
    await sql`
      select purge_dead(${workspaceId}::uuid, ${purgeId}::uuid, ${id}::uuid, ${kept === null ? null : sql.json(kept)}::jsonb)`
  }
}

/** The rest of a submission. Undefined if nothing is left. */
const withoutContacts = (realm: Realm, submission: Submission, gone: ReadonlySet<string>): Submission | undefined => {
  switch (submission.operation) {
    case 'submit_conversation':
      return conversationWithout(realm, submission, gone)
    case 'create_feedback':
    case 'identify_contact':
    case 'purge_contact':
      return undefined
    case 'identify_account':
      return submission
  }
}

const conversationWithout = (
  realm: Realm,
  submission: SubmissionOf<'submit_conversation'>,
  gone: ReadonlySet<string>,
): SubmissionOf<'submit_conversation'> | undefined => {
  const { contacts, messages, source } = submission.body
  const isGone = (keys: readonly string[]): boolean => keys.some((key) => gone.has(key))
  const sourced = sourcedContacts(submission.body)
  const left = contacts.filter((_, at) => !isGone(keysOfContact(realm, sourced[at]!, source)))
  const present = new Set(left.map(({ id }) => id))
  const removed = new Set(contacts.map(({ id }) => id)).difference(present)
  const isTheirs = (id: string): boolean =>
    removed.has(id) || (!present.has(id) && isGone(keysOfExternalId(realm, id, source)))
  const others = messages.filter(({ contactId }) => contactId === undefined || !isTheirs(contactId))
  if (left.length === 0 && others.every(({ contactId }) => contactId === undefined)) return undefined
  return { ...submission, body: { ...submission.body, contacts: left, messages: others } }
}
