import type { HashKey } from '../../contract/identity/own-id.ts'
import type { Submission, SubmissionOf } from '../../contract/submission.ts'
import type { Sql } from '../../db/connection/postgres.ts'

/** Submissions of one workspace, ascending, as they were read behind `after`. */
export type Stride = { workspaceId: string; after: number; submissions: readonly Submission[] }
export type AppliedSubmission = { submission: Submission; state: 'applied' | 'superseded' }
export type StrideResult =
  | { outcome: 'deleted' }
  /** Postgres has lost its last commits: the log has to be read again from this position. */
  | { outcome: 'behind'; position: number }
  | {
      outcome: 'applied'
      position: number
      /** What this call has applied, a purge that matched nobody included. */
      applied: AppliedSubmission[]
      /** At or below the position when it was loaded: another writer applied it, or it was lost. */
      found: Submission[]
      /** Purges of somebody. Their records are still to be removed. */
      decided: SubmissionOf<'purge_contact'>[]
    }

export type ApplyStores = {
  sql: Sql
  hashKey: HashKey
  /**
   * Remembers workspaces that had purges: their keys may have epochs, which are then loaded at
   * once.
   */
  purgedWorkspaces?: Set<string>
}
