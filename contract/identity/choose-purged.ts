import type { PurgeRequest } from '../purge-request.ts'
import { DEFAULT_SOURCE } from '../feedback-record.ts'
import { canonicalEmail } from './canonical.ts'
import { contactIdKey, contactSourceKey, emailKey, idOfEpoch, type Realm } from './own-id.ts'
import { openIdKey, purgeKeys } from './named-keys.ts'

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

export type PurgedContacts = {
  contactIds: string[]
  /** The keys whose epochs rise. The purge removes every contact that has them. */
  endedKeys: string[]
  /** Keys to look for in dead submissions: those of the request and those of the contacts. */
  keys: string[]
  /** Keys that records waited for until a contact got them. */
  formerKeys: string[]
}

/**
 * The candidates that a purge matches. It matches an external id in one source or in all, an email
 * by its meaning or in the column, or both. If the request has a source, a contact that matches by
 * email must have an external id in that source, or be known by the email alone. A match includes
 * all keys of the contact.
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
  const ownIds = externalIds.filter(areGone)
  const ownEmails = gone.flatMap((contact) => contact.emails).filter(areGone)
  const emails = ownEmails.map(({ email }) => emailKey(realm, email))
  return {
    contactIds,
    endedKeys: unique([...sourceKeys, ...emails]),
    keys: unique([
      ...purgeKeys(realm, wanted),
      ...sourceKeys,
      ...emails,
      ...ownIds.map(({ externalId }) => openIdKey(realm, externalId)),
    ]),
    formerKeys: unique(ownIds.map(({ externalId, epoch }) => idOfEpoch(contactIdKey(realm, externalId), epoch))),
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
