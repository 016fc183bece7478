import assert from 'node:assert/strict'
import type { HashKey } from '../../contract/identity/keys.ts'
import type { Submission } from '../../contract/submission.ts'
import type { Changes } from '../../fold/changes.ts'
import { Fold, type FoldableSubmission } from '../../fold/fold.ts'
import { segmentOf } from '../../worker/apply/segment.ts'
import { inOrder, instant, type Tables } from '../model/tables.ts'

const NOTHING = { position: 0, hasMoves: false, isRemoving: false, hadPurges: false, rows: [] }

/** Folds a history without purges in one stride of an empty workspace. */
export const foldAll = (hashKey: HashKey, workspaceId: string, history: readonly Submission[]): Fold => {
  const { realm, keys } = segmentOf({ hashKey, workspaceId }, history, false)
  const fold = new Fold(realm)
  fold.learn(NOTHING, keys)
  for (const submission of history) fold.takeIn(submission as FoldableSubmission)
  return fold
}

type Row = Readonly<Record<string, unknown>>

/** The names that the fold has for columns. Other columns have the same name. */
const NAMES: Readonly<Record<string, string>> = {
  created_number: 'first_number',
  accepted_number: 'first_number',
  updated_number: 'number',
}
const INSTANTS = ['source_created_at', 'source_updated_at', 'created_at', 'updated_at']

/**
 * Asserts that the fold of an empty workspace gives the rows of the model, in all their columns.
 */
export const assertRows = (fold: Fold, tables: Tables): void => {
  const changes = fold.changes()
  for (const [table, expected] of Object.entries(tables) as [keyof Tables, readonly Row[]][]) {
    const { workspace_id, ...columns } = expected[0] ?? {}
    const rows = rowsIn(changes, table).map((row) => {
      const values = Object.keys(columns).map((column): [string, unknown] => [column, valueOf(row, column)])
      return { workspace_id, ...Object.fromEntries(values) }
    })
    assert.deepEqual(inOrder(rows), expected, `the fold gives the rows of the model in ${table}`)
  }
}

const valueOf = (row: Row, column: string): unknown => {
  const value = row[NAMES[column] ?? column] ?? null
  return INSTANTS.includes(column) && value !== null ? instant(value as string) : value
}

const rowsIn = (changes: Changes, table: keyof Tables): readonly Row[] => {
  switch (table) {
    case 'contact':
    case 'account':
      return changes[table].map((row) => ({
        properties: {},
        ...row,
        listed_number: row.listed_number ?? row.first_number,
      }))
    case 'feedback':
      return changes.feedback.map((row) => ({
        is_hidden: false,
        ...row,
        created_at: row.source_created_at ?? new Date(row.first_number / 1_000).toISOString(),
      }))
    case 'feedback_category':
      return [...new Set(changes.feedback.flatMap(({ tags }) => tags ?? []))].map((title) => ({ title }))
    // No history of these tests makes themes.
    case 'theme':
      return []
    case 'contact_external_id':
    case 'account_external_id':
    case 'project':
    case 'conversation':
    case 'conversation_contact':
    case 'message':
    case 'source':
      return changes[table]
  }
}
