import type { HashKey } from '../../../contract/identity/keys.ts'
import type { Submission } from '../../../contract/submission.ts'
import { type Changes, noChanges } from '../../../db/apply/save.ts'
import { StrideKeys } from '../../../worker/apply/stride-keys.ts'
import { Fold, type FoldableSubmission } from '../../../worker/fold/fold.ts'
import { inOrder, instant, type Tables } from '../../model/tables.ts'

const NOTHING = { position: 0, hasMoves: false, isRemoving: false, hadPurges: false, rows: [] }

/** Folds a history without purges in one stride of an empty workspace. */
export const foldAll = (hashKey: HashKey, workspaceId: string, history: readonly Submission[]): Fold => {
  const keys = new StrideKeys({ hashKey, workspaceId }, history, false)
  const fold = new Fold(keys.realm)
  fold.learn(NOTHING, keys)
  for (const submission of history) fold.takeIn(submission as FoldableSubmission)
  return fold
}

export const changesOf = (fold: Fold): Changes => {
  const changes = noChanges()
  fold.writeTo(changes, 1)
  return changes
}

/** The rows after these changes in an empty workspace, in the form of the model. */
export const tablesOf = (changes: Changes, workspace_id: string): Tables => {
  const rowsOf = <Given, R extends object>(given: readonly Given[], row: (one: Given) => R) =>
    inOrder(given.map((one) => ({ workspace_id, ...row(one) })))
  return {
    contact: rowsOf(changes.contact, (one) => ({
      id: one.id,
      email: text(one.columns['email']),
      account_id: one.account ?? null,
      ...described(one),
    })),
    contact_external_id: rowsOf(changes.contact_key, ({ source, external_id, contact }) => ({
      source,
      external_id,
      contact_id: contact,
    })),
    account: rowsOf(changes.account, (one) => ({ id: one.id, domain: text(one.columns['domain']), ...described(one) })),
    account_external_id: rowsOf(changes.account_key, ({ source, external_id, account }) => ({
      source,
      external_id,
      account_id: account,
    })),
    project: rowsOf(changes.project, ({ id, name }) => ({ id, name })),
    feedback: rowsOf(changes.feedback, feedbackRow),
    feedback_category: rowsOf([...new Set(changes.feedback.flatMap(({ tags = [] }) => tags))], (title) => ({ title })),
    conversation: rowsOf(changes.conversation, conversationRow),
    conversation_contact: rowsOf(changes.conversation_contact, ({ conversation, contact }) => ({
      conversation_id: conversation,
      contact_id: contact,
    })),
    message: rowsOf(changes.message, messageRow),
  }
}

const text = (given: unknown): string | null => (given ?? null) as string | null
const instantIn = (given: unknown): string | null => (given == null ? null : instant(given as string))

const described = ({ columns, ...one }: Changes['contact'][number]) => ({
  name: text(columns['name']),
  contract_value: (columns['contract_value'] ?? null) as number | null,
  source_created_at: instantIn(columns['source_created_at']),
  source_updated_at: instantIn(columns['source_updated_at']),
  properties: one.all_properties ?? one.properties ?? {},
  created_number: one.first_number,
  updated_number: one.number,
})

const feedbackRow = (one: Changes['feedback'][number]) => ({
  id: one.id,
  description: one.description,
  title: one.title ?? null,
  is_transcript: one.is_transcript ?? null,
  tags: one.tags ?? null,
  tags_generated: one.tags === undefined,
  rating: one.rating ?? null,
  source: one.source,
  source_id: one.source_id ?? null,
  source_data: one.source_data ?? null,
  contact_id: one.contact ?? null,
  account_id: one.account ?? null,
  project_id: one.project ?? null,
  created_at: instant(one.source_created_at ?? new Date(one.first_number / 1_000).toISOString()),
  accepted_number: one.first_number,
  updated_number: one.number,
})

const conversationRow = (one: Changes['conversation'][number]) => ({
  id: one.id,
  external_id: one.external_id,
  source: one.source,
  title: one.title ?? null,
  rating: one.rating ?? null,
  properties: one.properties,
  created_at: instant(one.created_at),
  updated_at: instantIn(one.updated_at),
})

const messageRow = (one: Changes['message'][number]) => ({
  id: one.id,
  conversation_id: one.conversation,
  external_id: one.external_id,
  incoming: one.incoming,
  contact_id: one.contact ?? null,
  content: one.content,
  source_url: one.source_url ?? null,
  raw_data: one.raw_data,
  created_at: instant(one.created_at),
})
