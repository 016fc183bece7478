import { accountIdKey, contactIdKey, type Realm } from '../contract/identity/keys.ts'
import { feedbackKey, feedbackSource, feedbackSourceData, givenTags } from '../contract/feedback-record.ts'
import { givenColumns } from '../contract/records/tables.ts'
import { numberAtAcceptance, type SubmissionOf } from '../contract/submission.ts'
import type { Accounts } from './accounts.ts'
import type { Changes } from './changes.ts'
import type { Contacts } from './contacts.ts'
import { Corrections } from './corrections.ts'
import { Missing, type Profile } from './profile.ts'
import type { Projects } from './projects.ts'
import type { Themes } from './themes.ts'
import { type Link, linkTo, type Unresolved } from './profiles.ts'
import type { StoredRowOf, WantedKeys } from './stored.ts'

type FeedbackSubmission = SubmissionOf<'create_feedback'>
type FoldedFeedback = {
  submission: FeedbackSubmission
  contact: Link
  account: Link
  project: string | undefined
  firstNumber: number
  /** Tags of people on versions of this feedback that a later submission of the stride replaces. */
  formerTags: Set<string>
}
type Registers = {
  contacts: Contacts
  accounts: Accounts
  projects: Projects
  themes: Themes
  unresolved: Unresolved
}

/** The reference of a feedback to its contact or account. */
type Reference = {
  ids: readonly (string | null | undefined)[]
  isExternal: boolean
  keyOf: (externalId: string) => string
  findByKey: (key: string) => Profile | undefined
  findById: (id: string) => Profile | undefined
  findOrCreate: () => Profile | undefined
  /** The key under which an unknown external id waits. */
  unresolvedKeyOf: (key: string) => string
}

/** The feedback of a stride. */
export class Feedbacks {
  readonly realm: Realm
  readonly registers: Registers
  readonly #feedbacks = new Map<string, FoldedFeedback>()
  /** The newest number of each stored feedback, by id, for replays. */
  readonly #storedNewest = new Map<string, number>()
  /** The ids whose stored feedback was loaded, if it exists. */
  readonly #asked = new Set<string>()
  readonly #corrections = new Corrections()
  /** The ratings of the stride, by source. */
  readonly #ratings = new Map<string, number[]>()

  constructor(realm: Realm, registers: Registers) {
    this.realm = realm
    this.registers = registers
  }

  learnAsked(wanted: WantedKeys['feedback']): void {
    for (const id of wanted.keys()) this.#asked.add(id)
  }

  learn({ key, number, corrected = {} }: StoredRowOf<'feedback'>): void {
    this.#storedNewest.set(key, number)
    this.#corrections.learn(key, corrected)
  }

  /** A correction has no effect if the feedback, or the theme that it names, does not exist. */
  correct(submission: SubmissionOf<'correct_feedback'>): 'applied' | 'superseded' {
    const { id, themeId } = submission.body
    if (!this.#has(id) || (themeId != null && !this.registers.themes.has(themeId))) return 'superseded'
    return this.#corrections.correct(submission)
  }

  #has(id: string): boolean {
    return this.#feedbacks.has(id) || this.#storedNewest.has(id)
  }

  /** A theme without a feedback that exists does not come into being. */
  createTheme(submission: SubmissionOf<'create_theme'>): 'applied' | 'superseded' {
    const { feedbackIds } = submission.body
    const { submissionId: id } = submission
    if (this.registers.themes.has(id) || !feedbackIds.some((each) => this.#has(each))) return 'superseded'
    this.registers.themes.create(submission)
    this.#place(submission, feedbackIds, id)
    return 'applied'
  }

  /** An edit has no effect if the theme, or the one to merge it into, does not exist. */
  editTheme(submission: SubmissionOf<'edit_theme'>): 'applied' | 'superseded' {
    const { themes } = this.registers
    const { id, mergedInto, feedbackIds, removedFeedbackIds } = submission.body
    if (!themes.has(id) || (mergedInto != null && !themes.has(mergedInto))) return 'superseded'
    const isEdited = themes.edit(submission)
    const isPlaced = this.#place(submission, feedbackIds ?? [], id)
    const isRemoved = this.#place(submission, removedFeedbackIds ?? [], null)
    return isEdited || isPlaced || isRemoved ? 'applied' : 'superseded'
  }

  /** Corrects the theme of feedback. Returns whether one exists. */
  #place(
    submission: SubmissionOf<'create_theme' | 'edit_theme'>,
    feedbackIds: readonly string[],
    themeId: string | null,
  ): boolean {
    const states = feedbackIds.map((id) =>
      this.correct({ ...submission, operation: 'correct_feedback', body: { id, themeId } }),
    )
    return states.includes('applied')
  }

  /**
   * Replaces the whole record, and returns its id. A replay does not replace the record of a
   * submission that was accepted after the original.
   */
  create(submission: FeedbackSubmission): string {
    const { body, number, originalNumber } = submission
    const id = this.#idOf(submission)
    const former = this.#feedbacks.get(id)
    const newest = former === undefined ? (this.#storedNewest.get(id) ?? 0) : numberAtAcceptance(former.submission)
    if (originalNumber !== undefined && newest > originalNumber) return 'superseded'
    const formerTags = former?.formerTags ?? new Set()
    for (const tag of givenTags(former?.submission.body.tags) ?? []) formerTags.add(tag)
    this.#countRating(submission)
    const contact = this.#link(this.#contactReference(submission, id))
    this.#feedbacks.set(id, {
      submission,
      contact,
      account: this.#link(this.#accountReference(submission)),
      project: this.registers.projects.findOrCreate(body, number),
      firstNumber: former?.firstNumber ?? number,
      formerTags,
    })
    return id
  }

  /** After a deletion, the id has another epoch, and the stored rows of this id were not loaded. */
  #idOf({ submissionId, body }: FeedbackSubmission): string {
    const key = feedbackKey(this.realm, body)
    if (key === undefined) return submissionId
    const id = this.registers.contacts.epochs.idOf(key)
    if (id !== key && !this.#asked.has(id)) throw new Missing({ kind: 'feedback', id })
    return id
  }

  #countRating({ body }: FeedbackSubmission): void {
    if (body.rating == null) return
    const source = feedbackSource(body)
    const ratings = this.#ratings.get(source)
    if (ratings === undefined) this.#ratings.set(source, [body.rating])
    else ratings.push(body.rating)
  }

  /**
   * Tries the ids in order, then the other values of the reference. Without other values, the last
   * unknown external id waits.
   */
  #link(reference: Reference): Link {
    const ids = reference.ids.filter((id) => id != null)
    let last: string | undefined
    for (const id of ids) {
      last = reference.isExternal ? reference.keyOf(id) : undefined
      const found = last === undefined ? reference.findById(id) : reference.findByKey(last)
      if (found !== undefined) return linkTo(found)
    }
    const created = reference.findOrCreate()
    if (created !== undefined || last === undefined) return linkTo(created)
    return this.registers.unresolved.linkWhenKnown(reference.unresolvedKeyOf(last))
  }

  #contactReference(submission: FeedbackSubmission, id: string): Reference {
    const { contacts } = this.registers
    const { body } = submission
    return {
      ids: [body.contactId, body.contact?.id],
      isExternal: body.isExternalContactId,
      keyOf: (externalId) => contactIdKey(this.realm, externalId),
      findByKey: (key) => contacts.findByKey(key, feedbackSource(body)),
      findById: (own) => contacts.profiles.find(own),
      findOrCreate: () => contacts.findOrCreateFor(body.contact, id, submission),
      unresolvedKeyOf: (key) => contacts.epochs.idOf(key),
    }
  }

  #accountReference(submission: FeedbackSubmission): Reference {
    const { accounts } = this.registers
    const { body } = submission
    return {
      ids: [body.accountId, body.account?.id],
      isExternal: body.isExternalAccountId,
      keyOf: (externalId) => accountIdKey(this.realm, externalId),
      findByKey: (key) => accounts.findByKey(key),
      findById: (own) => accounts.profiles.find(own),
      findOrCreate: () => accounts.findOrCreateFor(body.account, submission),
      unresolvedKeyOf: (key) => key,
    }
  }

  writeTo(changes: Changes): void {
    this.#writeCategories(changes)
    this.#corrections.writeTo(changes)
    for (const [source, ratings] of this.#ratings)
      changes.source.push({
        source,
        ratings: ratings.length,
        least_rating: Math.min(...ratings),
        most_rating: Math.max(...ratings),
      })
    for (const [id, { submission, contact, account, project, firstNumber, formerTags }] of this.#feedbacks) {
      const { body, number, originalNumber } = submission
      const tags = givenTags(body.tags)
      if (contact.awaits !== null) changes.unresolved.push({ key_id: contact.awaits, slot: 'c', record_id: id })
      if (account.awaits !== null) changes.unresolved.push({ key_id: account.awaits, slot: 'a', record_id: id })
      changes.feedback.push({
        ...givenColumns('feedback', body),
        id,
        source: feedbackSource(body),
        source_data: feedbackSourceData(body),
        tags,
        tags_generated: tags === undefined,
        ...(formerTags.size > 0 && { former_tags: [...formerTags] }),
        contact_id: contact.profile?.current().id,
        account_id: account.profile?.current().id,
        project_id: project,
        number,
        newest_number: originalNumber,
        first_number: firstNumber,
      })
    }
  }

  /** Former tags count as well, since `save` takes back the tags of each replaced version. */
  #writeCategories(changes: Changes): void {
    const uses = new Map<string, number>()
    for (const { submission, formerTags } of this.#feedbacks.values())
      for (const title of [...(givenTags(submission.body.tags) ?? []), ...formerTags])
        uses.set(title, (uses.get(title) ?? 0) + 1)
    for (const [title, count] of uses) changes.feedback_category.push({ title, uses: count })
  }
}
