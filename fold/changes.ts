import type { JsonObject } from '../contract/json.ts'
import type { Operation } from '../contract/submission.ts'
import type { RowOf } from '../contract/records/tables.ts'

/** A contact or account, and the one that has absorbed it. */
type Absorbed = { id: string; target: string }

/**
 * The changes of a segment, as rows by table. `save` in db/apply/save.ts writes them. It also sets
 * the members of a row that only a save knows: workspace and change position.
 */
export type Changes = {
  account: ProfileRow<'account'>[]
  account_gone: Absorbed[]
  account_alias: RowOf<'account_alias'>[]
  account_external_id: RowOf<'account_external_id'>[]
  account_domain: RowOf<'account_domain'>[]
  account_name: RowOf<'account_name'>[]
  contact: ProfileRow<'contact'>[]
  contact_gone: Absorbed[]
  contact_alias: RowOf<'contact_alias'>[]
  contact_external_id: RowOf<'contact_external_id'>[]
  contact_email: RowOf<'contact_email'>[]
  contact_email_gone: { email: string; contact_id: string }[]
  project: RowOf<'project'>[]
  /** A tag that feedback of the stride carries; `uses`: how many more. */
  feedback_category: { title: string; uses: number }[]
  /** `former_tags`: tags of versions that the segment itself has replaced. */
  feedback: (RowOf<'feedback'> & { former_tags?: string[] })[]
  /**
   * What people set on a feedback, by member; null undoes it. `numbers`: as `CorrectionNumbers`.
   * `former_tags`: tags of corrections that the segment itself has replaced.
   */
  feedback_correction: { id: string; corrections: JsonObject; numbers: Record<string, number>; former_tags: string[] }[]
  /** What people set on a theme, in their order; null undoes it. `is_new`: a person makes the theme. */
  theme_edit: { id: string; is_new: boolean; given: JsonObject; numbers: Record<string, number> }[]
  /** How many ratings a source has sent, the least and the greatest. */
  source: RowOf<'source'>[]
  conversation: RowOf<'conversation'>[]
  /** Conversations that an older submission only adds to. */
  conversation_touched: { id: string; latest_version?: string | undefined }[]
  conversation_contact: RowOf<'conversation_contact'>[]
  message: RowOf<'message'>[]
  /** External ids that a contact or account has got. Records may wait for them. */
  resolved: { key_id: string; target: string }[]
  unresolved: RowOf<'unresolved'>[]
  submission: ReceiptRow[]
}

/**
 * A contact or account. Absent members keep their stored values, and null clears a column.
 * `has_all_properties`: the metadata replaces the stored metadata; otherwise it is added to it.
 */
type ProfileRow<T extends 'contact' | 'account'> = RowOf<T> & { has_all_properties?: true }

/** `is_replay`: the submission was dead or lost, and is applied under a later number. */
export type ReceiptRow = {
  id: string
  acceptance_number: number
  operation: Operation
  state: 'applied' | 'superseded'
  is_replay?: true
  idempotency_key?: string
  body_hash?: string
  subject_id?: string | undefined
}

export const noChanges = (): Changes => ({
  account: [],
  account_gone: [],
  account_alias: [],
  account_external_id: [],
  account_domain: [],
  account_name: [],
  contact: [],
  contact_gone: [],
  contact_alias: [],
  contact_external_id: [],
  contact_email: [],
  contact_email_gone: [],
  project: [],
  feedback_category: [],
  feedback: [],
  feedback_correction: [],
  theme_edit: [],
  source: [],
  conversation: [],
  conversation_touched: [],
  conversation_contact: [],
  message: [],
  resolved: [],
  unresolved: [],
  submission: [],
})
