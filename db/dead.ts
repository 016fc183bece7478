import type { SubmissionJob } from './contract/job.ts'
import type { HashKey } from './contract/own-id.ts'
import { concernedKeys } from './contract/pending.ts'
import type { Sql } from './postgres.ts'

export type DeadSubmission = { job: SubmissionJob; attempts: number; reason: string }

/** Sets a submission aside that cannot be stored: its receipt says why, its job stays to be replayed. Harmless to repeat. */
export const setAside = async (
  sql: Sql,
  hashKey: HashKey,
  { job, attempts, reason }: DeadSubmission,
): Promise<void> => {
  const { workspaceId, submissionId, number, operation } = job
  const keys = concernedKeys({ hashKey, workspaceId }, job)
  const dead = { id: submissionId, number, operation, attempts, reason, keys }
  await sql`select set_aside(${workspaceId}, ${sql.json(dead)}, ${JSON.stringify(job)})`
}
