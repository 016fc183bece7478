import type { PurgeRequest } from '../purge-request.ts'
import { DEFAULT_SOURCE, feedbackKey } from '../feedback-record.ts'
import { canonicalEmail, contactIdKey, contactSourceKey, emailKey, idOfEpoch, ownId, type Realm } from './keys.ts'
import { keysOf, type NamedKey, type Naming } from './named-keys.ts'

/** A contact that a purge could match. */
export type PurgeCandidate = {
  id: string
  /** The email in the column of the contact. */
  email: string | null
  /** Whether the email in the request means this contact. */
  isMeant: boolean
  /** `epoch`: of the id in all sources. `holders`: the contacts with this id, in any source. */
  externalIds: readonly { source: string; externalId: string; epoch: number; holders: readonly string[] }[]
  /** `email` is in canonical form. `holders`: the contacts that the email means or meant. */
  emails: readonly { email: string; holders: readonly string[] }[]
}

type PurgedContacts = {
  contactIds: string[]
  /**
   * The keys whose epochs rise, since the purge removes every contact that has them. The key of an
   * external id for all sources is among them if no other contact has the id. By this key,
   * `raise_purged_keys` finds records that wait in a restored backup.
   */
  endedKeys: string[]
  /**
   * Keys to look for in dead submissions: those of the request, and those of the contacts, except
   * keys that other contacts have, too.
   */
  keys: string[]
  /** Keys that records waited for until a contact got them. */
  formerKeys: string[]
}

/**
 * The candidates that a purge matches: by external id, by email, or by both. An email matches the
 * contact that it means, and each contact with this email in its column. If the request has a
 * source, a match needs an external id in that source. By email, a contact without external ids
 * matches the source `API`. A match includes all keys of the contact.
 */
export const choosePurged = (
  realm: Realm,
  wanted: PurgeRequest,
  candidates: readonly PurgeCandidate[],
): PurgedContacts => {
  const gone = candidates.filter((candidate) => hasId(candidate, wanted) || hasEmail(candidate, wanted))
  const contactIds = gone.map(({ id }) => id)
  const areGone = ({ holders }: { holders: readonly string[] }): boolean =>
    holders.length > 0 && holders.every((id) => contactIds.includes(id))
  const externalIds = gone.flatMap((contact) => contact.externalIds)
  const sourceKeys = externalIds.map(({ source, externalId }) => contactSourceKey(realm, source, externalId))
  const freedIds = externalIds.filter(areGone)
  const freedEmails = gone.flatMap((contact) => contact.emails).filter(areGone)
  const emails = freedEmails.map(({ email }) => emailKey(realm, email))
  const idKeys = freedIds.map(({ externalId }) => contactIdKey(realm, externalId))
  return {
    contactIds,
    endedKeys: unique([...sourceKeys, ...emails, ...idKeys]),
    keys: unique([
      ...namedKeys(realm, { operation: 'purge_contact', body: wanted }),
      ...sourceKeys,
      ...emails,
      ...freedIds.map(({ externalId }) => openIdKey(realm, externalId)),
    ]),
    formerKeys: unique(freedIds.map(({ externalId, epoch }) => idOfEpoch(contactIdKey(realm, externalId), epoch))),
  }
}

const unique = (keys: readonly string[]): string[] => [...new Set(keys)]

const hasId = ({ externalIds }: PurgeCandidate, { id, source }: PurgeRequest): boolean =>
  externalIds.some((held) => held.externalId === id && (source == null || held.source === source))

const hasEmail = (candidate: PurgeCandidate, wanted: PurgeRequest): boolean => {
  const email = canonicalEmail(wanted.email ?? '')
  if (email === undefined || !candidate.emails.some((held) => held.email === email)) return false
  return (candidate.isMeant || canonicalEmail(candidate.email ?? '') === email) && isInSource(candidate, wanted.source)
}

const isInSource = ({ externalIds }: PurgeCandidate, source: string | null | undefined): boolean =>
  source == null ||
  externalIds.some((held) => held.source === source) ||
  (externalIds.length === 0 && source === DEFAULT_SOURCE)

// Keys by which a submission or a purge names contacts. Comparing them tells whether a purge
// concerns a submission. All are of epoch 0, except own ids that a feedback names.

/**
 * All keys by which a removal finds a submission: its names of contacts, without resolving them, and
 * the key or id of a feedback.
 */
export const namedKeys = (realm: Realm, submission: Naming): string[] => {
  const { operation, body } = submission
  const contacts = keysOf(submission).flatMap((key) => contactKeys(realm, key))
  if (operation === 'correct_feedback' || operation === 'delete_feedback') return [body.id]
  const record = operation === 'create_feedback' ? feedbackKey(realm, body) : undefined
  return unique(record === undefined ? contacts : [...contacts, record])
}

/**
 * The keys of a name of a contact. A purge without a source means every use of its external id;
 * with a source, only the id in that source. Without a source, any other submission can mean a
 * contact of its source, or of any other source.
 */
export const contactKeys = (realm: Realm, key: NamedKey): string[] => {
  switch (key.kind) {
    case 'contactExternalId': {
      const { externalId, source, isOpen, role } = key
      if (role === 'purge')
        return [isOpen ? contactIdKey(realm, externalId) : contactSourceKey(realm, source, externalId)]
      const keys = [contactSourceKey(realm, source, externalId), contactIdKey(realm, externalId)]
      return isOpen ? [...keys, openIdKey(realm, externalId)] : keys
    }
    case 'contactId':
      return [key.id]
    case 'email':
      return [emailKey(realm, key.email)]
    case 'contactName':
    case 'accountExternalId':
    case 'accountId':
    case 'domain':
    case 'accountName':
    case 'projectId':
    case 'projectName':
      return []
  }
}

/**
 * The key of a reference that names no source. A purge looks for this key only if no contact with
 * the external id is left.
 */
export const openIdKey = (realm: Realm, id: string): string => ownId(realm, 'contact_bare', id, 'open')
