import type { PurgeRequest } from '../purge-request.ts'
import { DEFAULT_SOURCE } from '../stored-feedback.ts'
import { canonicalEmail } from './canonical.ts'
import { contactIdKey, contactSourceKey, emailKey } from './keys.ts'
import { openIdKey, purgeKeys } from './named-keys.ts'
import { idOfEpoch, type Realm } from './own-id.ts'

/** A contact that a purge could match. */
export type PurgeCandidate = {
  id: string
  /** As the column has it. */
  email: string | null
  /** Whether the email that the purge asks for means this contact. */
  isMeant: boolean
  /** `epoch`: of the id in all sources. `holders`: the contacts that have it, in any source. */
  externalIds: readonly { source: string; externalId: string; epoch: number; holders: readonly string[] }[]
  /** In canonical form. `holders`: the contacts that the email means or meant. */
  emails: readonly { email: string; holders: readonly string[] }[]
}

export type PurgedContacts = {
  contactIds: string[]
  /** The keys whose epochs rise: no contact has them any more. */
  endedKeys: string[]
  /** The keys by which dead submissions are found: those asked for and those of the contacts. */
  keys: string[]
  /** Keys that records waited for before a contact had them. */
  formerKeys: string[]
}

/**
 * Which of the candidates a purge matches: by external id in its source or in all, by the email
 * that means the contact or that its column has, or by both. With a source, a contact that matches
 * by email must have an external id there, or be known by email only and so have been created
 * there. A match goes with all its keys.
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
