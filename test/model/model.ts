import type { HashKey } from '../../contract/identity/keys.ts'
import type { Submission } from '../../contract/submission.ts'
import { applySubmission, type Clerk, openClerk } from './clerk.ts'
import { type Tables, tablesOf } from './tables.ts'

/** The expected rows after these submissions, applied in the order of acceptance. */
export const applyAll = (hashKey: HashKey, submissions: readonly Submission[]): Tables =>
  tablesOf([...clerksAfter(hashKey, submissions).values()])

/** The state of each workspace after these submissions. */
export const clerksAfter = (hashKey: HashKey, submissions: readonly Submission[]): Map<string, Clerk> => {
  const clerks = new Map<string, Clerk>()
  for (const submission of submissions.toSorted((one, other) => one.number - other.number)) {
    const { workspaceId } = submission
    const clerk = clerks.get(workspaceId) ?? openClerk({ hashKey, workspaceId })
    clerks.set(workspaceId, clerk)
    applySubmission(clerk, submission)
  }
  return clerks
}
