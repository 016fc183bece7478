import type { ContactRecord } from '../contract/contact-record.ts'
import type { Realm } from '../contract/identity/keys.ts'
import { DEFAULT_SOURCE } from '../contract/feedback-record.ts'
import { numberAtAcceptance, type Removal, type Submission } from '../contract/submission.ts'
import { Accounts } from './accounts.ts'
import { type Changes, noChanges, type ReceiptRow } from './changes.ts'
import { Claims, Epochs, type Link, Profiles, Unresolved } from './profiles.ts'
import { Contacts, type IdentifiedContact } from './contacts.ts'
import { Conversations } from './conversations.ts'
import type { MissingState, Profile } from './profile.ts'
import { Feedbacks } from './feedbacks.ts'
import { Projects } from './projects.ts'
import { Themes } from './themes.ts'
import type { StoredRow, StoredState, WantedKeys } from './stored.ts'

/** A submission that the fold applies. Removals are decided separately. */
export type FoldableSubmission = Exclude<Submission, Removal>

/**
 * Applies submissions of one workspace in order to the loaded state of their keys.
 * docs/integrate.md has the rules of references. Throws Missing, or notes what it lacks, if more has
 * to be loaded. Then the fold must not be saved.
 */
export class Fold {
  readonly #epochs = new Epochs()
  readonly #unresolved = new Unresolved()
  readonly #contacts: Contacts
  readonly #accounts: Accounts
  readonly #projects: Projects
  readonly #themes = new Themes()
  readonly #feedbacks: Feedbacks
  readonly #conversations: Conversations
  readonly #lacking = new Set<Profile>()
  /** The submissions so far, with their states. */
  readonly folded: FoldedSubmission[] = []

  /** `saved`: the contacts and accounts whose metadata an earlier part of the submission has saved. */
  constructor(realm: Realm, saved: ReadonlySet<string> = new Set()) {
    const open = (kind: 'contact' | 'account') => new Profiles({ kind, saved, lacking: this.#lacking })
    const [epochs, unresolved] = [this.#epochs, this.#unresolved]
    this.#contacts = new Contacts({ realm, epochs, unresolved, profiles: open('contact') })
    this.#accounts = new Accounts(realm, unresolved, open('account'))
    this.#projects = new Projects(realm)
    const registers = {
      contacts: this.#contacts,
      accounts: this.#accounts,
      projects: this.#projects,
      themes: this.#themes,
      unresolved: this.#unresolved,
    }
    this.#feedbacks = new Feedbacks(realm, registers)
    this.#conversations = new Conversations(realm, this.#contacts, this.#unresolved)
  }

  /** Takes the stored rows of a stride's keys. */
  learn(stored: StoredState, wanted: WantedKeys): void {
    this.#epochs.learn(stored, wanted)
    this.#contacts.learnKeys(stored.rows)
    this.#conversations.learn(wanted.conversation, stored.rows)
    this.#conversations.messages.learn(wanted.message, stored.rows)
    this.#feedbacks.learnAsked(wanted.feedback)
    for (const row of stored.rows) this.#learnRow(row)
  }

  takeIn(submission: FoldableSubmission): void {
    const claims = new Claims()
    const { state, subject } = this.#apply(submission, claims)
    claims.applyAll()
    this.folded.push({ submission, state, subject })
  }

  /** What the fold lacks of contacts and accounts. What was saved before needs no metadata. */
  lacking(): MissingState[] {
    return this.#lackingProfiles().map(({ kind, id, lacks }) => ({ kind, id, metadata: lacks === 'metadata' }))
  }

  /** Whether the load had too much metadata, and left out what the fold needs. */
  hasTooMuch(): boolean {
    return this.#lackingProfiles().some(({ isLeftOut }) => isLeftOut)
  }

  /**
   * The complete metadata of contacts and accounts, as rows, and their ids. `lacking`: the ids of the
   * incomplete ones, each with the ids that it absorbs.
   */
  part(): { changes: Changes; saved: string[]; lacking: FoldedIds[] } {
    const [changes, saved, lacking]: [Changes, string[], FoldedIds[]] = [noChanges(), [], []]
    for (const profiles of [this.#accounts.profiles, this.#contacts.profiles])
      for (const { root, members } of profiles.groups()) {
        if (members.some(({ lacks }) => lacks !== undefined)) {
          lacking.push({ kind: profiles.kind, ids: members.filter(({ isStored }) => isStored).map(({ id }) => id) })
        } else {
          profiles.writeMetadata(changes, root)
          saved.push(root.id)
        }
      }
    return { changes, saved, lacking }
  }

  #lackingProfiles(): Profile[] {
    return [...this.#lacking].filter((profile) => profile.lacks === 'columns' || !profile.current().isMetadataSaved)
  }

  /** The changed rows, by table. */
  changes(): Changes {
    const changes = noChanges()
    this.#accounts.writeTo(changes)
    this.#contacts.writeTo(changes)
    this.#projects.writeTo(changes)
    this.#themes.writeTo(changes)
    this.#feedbacks.writeTo(changes)
    this.#conversations.writeTo(changes)
    this.#unresolved.writeTo(changes)
    changes.submission.push(...this.folded.map(receiptRow))
    return changes
  }

  #apply(submission: FoldableSubmission, claims: Claims): { state: FoldedSubmission['state']; subject: Subject } {
    switch (submission.operation) {
      case 'create_feedback': {
        const id = this.#feedbacks.create(submission)
        return id === 'superseded' ? { state: 'superseded', subject: null } : { state: 'applied', subject: id }
      }
      case 'identify_contact': {
        const profile = this.#identify({ record: submission.body, defaultSource: DEFAULT_SOURCE, submission, claims })
        return { state: 'applied', subject: { profile, awaits: null } }
      }
      case 'identify_account':
        this.#accounts.identify({ record: submission.body, source: DEFAULT_SOURCE, submission, claims })
        return { state: 'applied', subject: null }
      case 'submit_conversation': {
        const { body } = submission
        const identify = (record: ContactRecord) =>
          this.#identify({ record, defaultSource: body.source, submission, claims })
        const { id, state } = this.#conversations.submit(submission, identify)
        return { state, subject: id }
      }
      case 'correct_feedback':
        return { state: this.#feedbacks.correct(submission), subject: submission.body.id }
      case 'create_theme':
        return { state: this.#feedbacks.createTheme(submission), subject: submission.submissionId }
      case 'edit_theme':
        return { state: this.#feedbacks.editTheme(submission), subject: submission.body.id }
    }
  }

  /**
   * Identifies a contact and its nested account. Without a nested account, the link stays. A late
   * record only sets a missing link.
   */
  #identify(identified: IdentifiedContact): Profile {
    const { record, defaultSource, submission, claims } = identified
    const { contact, isLate } = this.#contacts.identify(identified)
    if (record.account == null) return contact
    const source = record.source ?? defaultSource
    const account = this.#accounts.identify({ record: record.account, source, submission, claims })
    if (!isLate || !contact.hasAccount()) contact.linkAccount(account, submission)
    return contact
  }

  #learnRow(row: StoredRow): void {
    switch (row.kind) {
      case 'email':
        return this.#contacts.emails.learn(row)
      case 'contact':
        return this.#contacts.profiles.learnById(row.key, row.profile)
      case 'accountExternalId':
        return this.#accounts.learnKey(row)
      case 'domain':
        return this.#accounts.names.learnDomain(row)
      case 'accountName':
        return this.#accounts.names.learnName(row)
      case 'account':
        return this.#accounts.profiles.learnById(row.key, row.profile)
      case 'project':
        return this.#projects.learn(row.key)
      case 'theme':
        return this.#themes.learn(row)
      case 'feedback':
        return this.#feedbacks.learn(row)
      // `learn` takes these rows together, and `nextStep` in worker/apply/ reads the receipts.
      case 'contactExternalId':
      case 'conversation':
      case 'message':
      case 'epoch':
      case 'receipt':
        return undefined
    }
  }
}

/**
 * The contact, feedback or conversation of a submission. Its removal frees the idempotency key.
 */
type Subject = Link | string | null

/** Own ids of stored contacts or accounts. */
type FoldedIds = { kind: 'contact' | 'account'; ids: readonly string[] }

type FoldedSubmission = { submission: Submission; state: 'applied' | 'superseded'; subject: Subject }

/** The receipt of a submission that was appended again has the original number. */
const receiptRow = ({ submission, state, subject }: FoldedSubmission): ReceiptRow => {
  const { submissionId: id, operation, originalNumber, idempotency } = submission
  return {
    id,
    acceptance_number: numberAtAcceptance(submission),
    operation,
    state,
    ...(originalNumber !== undefined && { is_replay: true }),
    ...(idempotency && { idempotency_key: idempotency.key, body_hash: idempotency.body, subject_id: idOf(subject) }),
  }
}

const idOf = (subject: Subject): string | undefined => {
  if (subject === null || typeof subject === 'string') return subject ?? undefined
  return subject.profile?.current().id ?? subject.awaits ?? undefined
}
