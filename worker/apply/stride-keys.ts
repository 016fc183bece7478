import type { AccountRecord, ContactRecord } from '../../contract/contact-record.ts'
import { conversationId, sourcedContacts } from '../../contract/conversation-record.ts'
import { DEFAULT_SOURCE, feedbackId, type FeedbackRecord } from '../../contract/feedback-record.ts'
import {
  accountIdKey,
  asUuid,
  canonicalDomain,
  canonicalEmail,
  canonicalName,
  contactIdKey,
  contactSourceKey,
  emailKey,
  ownId,
  projectKey,
  type Realm,
  recordContactKey,
} from '../../contract/identity/keys.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { Submission, SubmissionOf } from '../../contract/submission.ts'
import { KEY, type KeyKind, PROFILE, type WantedKeys, WHOLE, WHOLE_IF_ANONYMOUS } from '../../db/apply/load.ts'
import type { MissingState } from '../fold/profile.ts'

type Keys = { [kind in KeyKind]: Map<string, number> }

/** The keys in submissions of one workspace, each with the level to load. */
export class StrideKeys implements WantedKeys, Keys {
  readonly contactKey = new Map<string, number>()
  readonly email = new Map<string, number>()
  readonly contact = new Map<string, number>()
  readonly accountKey = new Map<string, number>()
  readonly domain = new Map<string, number>()
  readonly accountName = new Map<string, number>()
  readonly account = new Map<string, number>()
  readonly project = new Map<string, number>()
  readonly feedback = new Map<string, number>()
  readonly conversation = new Map<string, number>()
  readonly message = new Map<string, number>()
  readonly epoch = new Map<string, number>()
  readonly receipt = new Map<string, number>()
  readonly realm: Realm
  readonly submissions: readonly Submission[]

  /** `hadPurges`: the workspace had purges, so its keys may have epochs. */
  constructor(realm: Realm, submissions: readonly Submission[], hadPurges: boolean) {
    this.realm = realm
    this.submissions = submissions
    for (const submission of submissions) this.#add(submission)
    if (hadPurges) this.addMissing({ kind: 'epochs' })
  }

  get workspaceId(): string {
    return this.realm.workspaceId
  }

  /** Adds the keys that a fold misses. */
  addMissing(missing: MissingState, level = WHOLE): void {
    switch (missing.kind) {
      case 'contact':
      case 'account':
        want(this[missing.kind], missing.id, level)
        break
      case 'epochs':
        for (const submission of this.submissions)
          for (const key of epochKeysOf(this.realm, submission)) want(this.epoch, key, KEY)
        break
      case 'messages':
        this.#addMessages(missing.conversationId)
        break
    }
  }

  #add(submission: Submission): void {
    if (submission.originalNumber !== undefined) want(this.receipt, submission.submissionId, KEY)
    switch (submission.operation) {
      case 'create_feedback':
        this.#addFeedback(submission)
        break
      case 'identify_contact':
        this.#addContact(submission.body, submission)
        break
      case 'identify_account':
        this.#addAccount(submission.body, submission)
        break
      case 'submit_conversation':
        this.#addConversation(submission)
        break
      case 'purge_contact':
        break
    }
  }

  #addFeedback(submission: SubmissionOf<'create_feedback'>): void {
    const { body, originalNumber } = submission
    if (originalNumber !== undefined) want(this.feedback, this.#feedbackId(submission), KEY)
    this.#addContactOf(submission)
    this.#addAccountOf(body)
    for (const given of [body.projectId, body.project?.id]) if (given != null) want(this.project, asUuid(given), KEY)
    const project = canonicalName(body.project?.name ?? '')
    if (project !== undefined) want(this.project, projectKey(this.realm, project), KEY)
  }

  #addContactOf(submission: SubmissionOf<'create_feedback'>): void {
    const { contactId, contact, isExternalContactId } = submission.body
    for (const given of [contactId, contact?.id]) {
      if (given == null) continue
      if (isExternalContactId) want(this.contactKey, contactIdKey(this.realm, given), KEY)
      else want(this.contact, asUuid(given), KEY)
    }
    const level = levelFor(contact?.sourceData)
    const email = canonicalEmail(contact?.email ?? '')
    if (email !== undefined) want(this.email, email, level)
    else if (canonicalName(contact?.name ?? '') !== undefined)
      want(this.contact, recordContactKey(this.realm, this.#feedbackId(submission)), level)
  }

  #addAccountOf({ accountId, account, isExternalAccountId }: FeedbackRecord): void {
    for (const given of [accountId, account?.id]) {
      if (given == null) continue
      if (isExternalAccountId) want(this.accountKey, accountIdKey(this.realm, given), KEY)
      else want(this.account, asUuid(given), KEY)
    }
    const level = levelFor(account?.sourceData)
    const domain = canonicalDomain(account?.domain ?? '')
    want(this.domain, domain, level)
    // A name that comes with a domain may be linked to it. Then the domain's account absorbs the
    // anonymous account of the name.
    want(this.accountName, canonicalName(account?.name ?? ''), domain === undefined ? level : WHOLE_IF_ANONYMOUS)
  }

  #addContact(record: ContactRecord, submission: Submission): void {
    want(this.contactKey, contactIdKey(this.realm, record.id), levelToIdentify(record, submission))
    want(this.email, canonicalEmail(textIn(record.properties, '$email')), WHOLE_IF_ANONYMOUS)
    if (record.account != null) this.#addAccount(record.account, submission)
  }

  #addAccount(record: AccountRecord, submission: Submission): void {
    want(this.accountKey, accountIdKey(this.realm, record.id), levelToIdentify(record, submission))
    want(this.domain, canonicalDomain(textIn(record.properties, '$domain')), WHOLE_IF_ANONYMOUS)
    want(this.accountName, canonicalName(textIn(record.properties, '$name')), WHOLE_IF_ANONYMOUS)
  }

  #addConversation(submission: SubmissionOf<'submit_conversation'>): void {
    const { body, originalNumber } = submission
    for (const contact of sourcedContacts(body)) this.#addContact(contact, submission)
    const senders = new Set(body.messages.map(({ contactId }) => contactId))
    for (const id of senders) if (id !== undefined) want(this.contactKey, contactIdKey(this.realm, id), KEY)
    // The stored conversation may be newer, so the fold needs its version.
    if (body.updatedAt != null || originalNumber !== undefined)
      want(this.conversation, conversationId(this.realm, body), KEY)
    if (originalNumber !== undefined) this.#addMessages(conversationId(this.realm, body))
  }

  #addMessages(id: string): void {
    for (const { operation, body } of this.submissions) {
      if (operation !== 'submit_conversation' || conversationId(this.realm, body) !== id) continue
      for (const message of body.messages) want(this.message, ownId(this.realm, 'message', id, message.id), KEY)
    }
  }

  #feedbackId({ submissionId, body }: SubmissionOf<'create_feedback'>): string {
    return feedbackId({ ...this.realm, submissionId }, body)
  }
}

const want = (keys: Map<string, number>, key: string | undefined, level: number): void => {
  if (key === undefined) return
  const held = keys.get(key)
  if (held === undefined || held < level) keys.set(key, level)
}

/**
 * For a find-or-create reference. Given metadata fills absent keys, so the fold must know all
 * stored keys.
 */
const levelFor = (sourceData: JsonObject | null | undefined): number => {
  for (const _ in sourceData) return WHOLE
  return KEY
}

const levelToIdentify = ({ properties }: ContactRecord | AccountRecord, { originalNumber }: Submission): number =>
  originalNumber !== undefined || textIn(properties, '$updatedAt') !== '' ? PROFILE : KEY

const textIn = (properties: { [key: string]: JsonValue | undefined } | null | undefined, key: string): string => {
  const value = properties?.[key]
  return typeof value === 'string' ? value : ''
}

/**
 * The keys whose epochs a submission needs: those by which it may create a contact, or wait for
 * one.
 */
const epochKeysOf = (realm: Realm, submission: Submission): string[] => {
  switch (submission.operation) {
    case 'create_feedback':
      return epochKeysOfFeedback(realm, submission)
    case 'identify_contact':
      return epochKeysOfContact(realm, submission.body, DEFAULT_SOURCE)
    case 'submit_conversation':
      return epochKeysOfConversation(realm, submission)
    case 'identify_account':
    case 'purge_contact':
      return []
  }
}

const epochKeysOfFeedback = (realm: Realm, { body }: SubmissionOf<'create_feedback'>): string[] => {
  const ids = body.isExternalContactId ? [body.contactId, body.contact?.id].filter((id) => id != null) : []
  const email = canonicalEmail(body.contact?.email ?? '')
  return [...ids.map((id) => contactIdKey(realm, id)), ...(email === undefined ? [] : [emailKey(realm, email)])]
}

const epochKeysOfContact = (realm: Realm, { id, source }: ContactRecord, defaultSource: string): string[] => [
  contactIdKey(realm, id),
  contactSourceKey(realm, source ?? defaultSource, id),
]

const epochKeysOfConversation = (realm: Realm, { body }: SubmissionOf<'submit_conversation'>): string[] => {
  const senders = new Set(body.messages.flatMap(({ contactId }) => contactId ?? []))
  return [
    ...sourcedContacts(body).flatMap((contact) => epochKeysOfContact(realm, contact, body.source)),
    ...Array.from(senders, (id) => contactIdKey(realm, id)),
  ]
}
