import type { HashKey } from '../../contract/identity/own-id.ts'
import type { Submission, SubmissionOf } from '../../contract/submission.ts'
import type { Sql } from '../../db/connection/postgres.ts'

/** Submissions of one workspace, ascending, read behind `after`. */
export type Stride = { workspaceId: string; after: number; submissions: readonly Submission[] }
export type AppliedSubmission = { submission: Submission; state: 'applied' | 'superseded' }
export type StrideResult =
  | { outcome: 'deleted' }
  /** Postgres has lost its last commits: the log has to be read again from this position. */
  | { outcome: 'behind'; position: number }
  | {
      outcome: 'applied'
      position: number
      /** The submissions that this call applied, with purges that matched no contact. */
      applied: AppliedSubmission[]
      /**
       * Submissions at or below the position at loading: another writer applied them, or they were
       * lost.
       */
      found: Submission[]
      /** Purges that matched contacts. Their records are still to be removed. */
      decided: SubmissionOf<'purge_contact'>[]
    }

export type ApplyStores = {
  sql: Sql
  hashKey: HashKey
  /** The workspaces that had purges. Epochs of their keys are loaded at once. */
  purgedWorkspaces?: Set<string>
}
