import { conversationId } from '../../contract/conversation-record.ts'
import { feedbackId, feedbackKey } from '../../contract/feedback-record.ts'
import {
  accountIdKey,
  contactIdKey,
  contactSourceKey,
  emailKey,
  ownId,
  projectKey,
  type Realm,
  recordContactKey,
} from '../../contract/identity/keys.ts'
import { keysOf, type NamedKey } from '../../contract/identity/named-keys.ts'
import type { Submission } from '../../contract/submission.ts'
import type { MissingState } from '../../fold/profile.ts'
import type { KeyKind, Need } from '../../fold/stored.ts'

/**
 * Submissions of a stride that are loaded, folded and saved together, and the keys to load: those
 * that the submissions name, and what a fold missed. `saved`: the contacts and accounts whose metadata
 * an earlier part of the only submission has saved.
 */
export type Segment = {
  realm: Realm
  submissions: readonly Submission[]
  keys: SegmentKeys
  saved: ReadonlySet<string>
}

type SegmentKeys = { [K in KeyKind]: Map<string, Need> }

/** `hadPurges`: the workspace had purges, so its keys may have epochs. */
export const segmentOf = (realm: Realm, submissions: readonly Submission[], hadPurges: boolean): Segment => {
  const segment = { realm, submissions, keys: noKeys(), saved: new Set<string>() }
  for (const submission of submissions) wantKeysOf(segment, submission)
  if (hadPurges) wantEpochs(segment)
  return segment
}

/** Adds what a fold missed. */
export const addMissing = (segment: Segment, missing: MissingState): void => {
  switch (missing.kind) {
    case 'contact':
    case 'account':
      return want(segment.keys[missing.kind], missing.id, missing.metadata ? { metadata: true } : {})
    case 'epochs':
      return wantEpochs(segment)
    case 'feedback':
      want(segment.keys.contact, recordContactKey(segment.realm, missing.id), { metadata: true })
      return want(segment.keys.feedback, missing.id)
    case 'messages':
      return wantMessages(segment, missing.conversationId)
  }
}

/**
 * The next load of a submission whose contacts and accounts have too much metadata for one load. It
 * asks for the metadata that the last fold lacked, in its order. The load always has room for the
 * first contact or account, with the ones that it absorbs.
 */
export const nextPart = (
  { realm, submissions, keys, saved }: Segment,
  { saved: savedNow, lacking }: { saved: readonly string[]; lacking: readonly Lacking[] },
): Segment => {
  const next: Segment = { realm, submissions, keys: noKeys(), saved: new Set([...saved, ...savedNow]) }
  for (const kind of Object.keys(keys) as KeyKind[])
    for (const [key, { profile }] of keys[kind]) want(next.keys[kind], key, profile ? { profile } : {})
  for (const [at, { kind, ids }] of lacking.entries())
    for (const id of ids) want(next.keys[kind], id, at === 0 ? { metadata: true, ofAnySize: true } : { metadata: true })
  return next
}

type Lacking = { kind: 'contact' | 'account'; ids: readonly string[] }

const noKeys = (): SegmentKeys => ({
  contactExternalId: new Map(),
  email: new Map(),
  contact: new Map(),
  accountExternalId: new Map(),
  domain: new Map(),
  accountName: new Map(),
  account: new Map(),
  project: new Map(),
  feedback: new Map(),
  theme: new Map(),
  conversation: new Map(),
  message: new Map(),
  epoch: new Map(),
  receipt: new Map(),
})

const want = (keys: Map<string, Need>, key: string, need: Need = {}): void => {
  const held = keys.get(key)
  keys.set(key, held === undefined ? need : { ...held, ...need })
}

const wantKeysOf = (segment: Segment, submission: Submission): void => {
  for (const key of keysOf(submission)) wantKey(segment, submission, key)
  const { keys, realm } = segment
  const { operation, body, submissionId, originalNumber } = submission
  const isReplay = originalNumber !== undefined
  if (isReplay) want(keys.receipt, submissionId)
  if (isReplay && operation === 'create_feedback') want(keys.feedback, feedbackId({ ...realm, submissionId }, body))
  if (operation === 'correct_feedback') wantCorrected(keys, [body.id], body.themeId)
  if (operation === 'create_theme') wantCorrected(keys, body.feedbackIds, submissionId)
  if (operation === 'edit_theme') {
    wantCorrected(keys, [...(body.feedbackIds ?? []), ...(body.removedFeedbackIds ?? [])], body.id)
    wantCorrected(keys, [], body.mergedInto)
  }
  if (operation !== 'submit_conversation') return
  const id = conversationId(realm, body)
  // The stored conversation may be newer, so the fold needs its version.
  if (isReplay || body.updatedAt != null) want(keys.conversation, id)
  if (isReplay) wantMessages(segment, id)
}

const wantCorrected = (keys: SegmentKeys, feedbackIds: readonly string[], themeId: string | null | undefined): void => {
  for (const id of feedbackIds) want(keys.feedback, id)
  if (themeId != null) want(keys.theme, themeId)
}

const wantKey = ({ keys, realm }: Segment, submission: Submission, key: NamedKey): void => {
  switch (key.kind) {
    case 'contactExternalId':
      return want(keys.contactExternalId, contactIdKey(realm, key.externalId), needToIdentify(submission, key))
    case 'contactId':
      return want(keys.contact, key.id)
    case 'email':
      return want(keys.email, key.email, needOf(key))
    case 'contactName':
      return want(keys.contact, recordContactKeyOf(realm, submission), needOf(key))
    case 'accountExternalId':
      return want(keys.accountExternalId, accountIdKey(realm, key.externalId), needToIdentify(submission, key))
    case 'accountId':
      return want(keys.account, key.id)
    case 'domain':
      return want(keys.domain, key.domain, needOf(key))
    case 'accountName':
      // The domain's account may absorb the anonymous account of a name that comes with a domain.
      return want(keys.accountName, key.name, key.hasDomain ? { absorbs: true } : needOf(key))
    case 'projectId':
      return want(keys.project, key.id)
    case 'projectName':
      return want(keys.project, projectKey(realm, key.name))
  }
}

/** An identify may be older than its contact or account. */
const needToIdentify = (
  { originalNumber }: Submission,
  { role, isVersioned }: { role: string; isVersioned: boolean },
): Need => (role === 'identify' && (isVersioned || originalNumber !== undefined) ? { profile: true } : {})

const needOf = ({ role, fillsMetadata }: { role: string; fillsMetadata: boolean }): Need => {
  if (role === 'identify') return { absorbs: true }
  return fillsMetadata ? { metadata: true } : {}
}

const recordContactKeyOf = (realm: Realm, { operation, body, submissionId }: Submission): string => {
  if (operation !== 'create_feedback')
    throw new Error(`Only a feedback names a contact by name alone, not ${operation}.`)
  return recordContactKey(realm, feedbackId({ ...realm, submissionId }, body))
}

/** The keys by which a submission may create a contact or a feedback, or wait for a contact. */
const wantEpochs = ({ realm, submissions, keys }: Segment): void => {
  for (const { operation, body } of submissions) {
    const key = operation === 'create_feedback' ? feedbackKey(realm, body) : undefined
    if (key !== undefined) want(keys.epoch, key)
  }
  for (const key of submissions.flatMap(keysOf)) {
    if (key.kind === 'contactExternalId') {
      want(keys.epoch, contactIdKey(realm, key.externalId))
      if (key.role === 'identify') want(keys.epoch, contactSourceKey(realm, key.source, key.externalId))
    } else if (key.kind === 'email' && key.role === 'refer') want(keys.epoch, emailKey(realm, key.email))
  }
}

const wantMessages = ({ realm, submissions, keys }: Segment, id: string): void => {
  for (const { operation, body } of submissions)
    if (operation === 'submit_conversation' && conversationId(realm, body) === id)
      for (const message of body.messages) want(keys.message, ownId(realm, 'message', id, message.id))
}
