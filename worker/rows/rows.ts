import type { SubmissionJob } from '../../contract/job.ts'
import type { HashKey } from '../../contract/identity/own-id.ts'
import { DEFAULT_SOURCE } from '../../contract/stored-feedback.ts'
import type { Rows, SettledRow } from '../../db/store.ts'
import { conversationRows } from './conversation.ts'
import { feedbackRow } from './feedback.ts'
import { identifiedAccount, identifiedContact } from './identified.ts'

/** A submission that is stored as rows; a purge is not (purge.ts). */
export type StoredJob = Exclude<SubmissionJob, { operation: 'purge_contact' }>

/** A submission as rows. This step is pure: it gives the same rows whenever and however often it is taken. */
export const rowsOf = (hashKey: HashKey, job: StoredJob, attempts: number): Rows => {
  const { workspaceId, number } = job
  const saying = { hashKey, workspaceId, number, homeSource: DEFAULT_SOURCE }
  const settled = (record: string | null): SettledRow => ({
    id: job.submissionId,
    number,
    operation: job.operation,
    attempts,
    record,
  })
  switch (job.operation) {
    case 'create_feedback': {
      const feedback = feedbackRow(hashKey, job)
      return { workspaceId, submission: settled(feedback.id), feedback }
    }
    case 'identify_contact': {
      const { keys, claims } = identifiedContact(saying, job.body)
      return { workspaceId, submission: settled(null), keys, claims }
    }
    case 'identify_account': {
      const { keys, claims } = identifiedAccount(saying, job.body)
      return { workspaceId, submission: settled(null), keys, claims }
    }
    case 'submit_conversation': {
      const rows = conversationRows(hashKey, job)
      return { workspaceId, submission: settled(rows.conversation.id), ...rows }
    }
  }
}
