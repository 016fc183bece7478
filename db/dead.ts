import type { SubmissionJob } from './contract/job.ts'
import type { Pending } from './contract/pending.ts'
import type { Sql } from './postgres.ts'

export type DeadSubmission = { job: SubmissionJob; pending: Pending; attempts: number; reason: string }

/** Sets a submission aside that cannot be stored: its receipt says why, its job stays to be replayed. Harmless to repeat. */
export const setAside = async (sql: Sql, { job, pending, attempts, reason }: DeadSubmission): Promise<void> => {
  const { workspaceId, submissionId, number, operation } = job
  const keys = [...new Set([...pending.exists, ...pending.said.map(({ keyId }) => keyId)])]
  const dead = { id: submissionId, number, operation, attempts, reason, keys }
  await sql`select set_aside(${workspaceId}, ${sql.json(dead)}, ${JSON.stringify(job)})`
}
