import type { JobOf } from '../db/contract/job.ts'
import type { FindContacts } from '../db/find-contacts.ts'
import type { Sql } from '../db/postgres.ts'
import { purgeContacts, type PurgeCounts, settlePurge } from '../db/purge.ts'

/** Finds whom a purge concerns, removes them step by step, and settles the submission. */
export const purge = async (
  { sql, findContacts }: { sql: Sql; findContacts: FindContacts },
  job: JobOf<'purge_contact'>,
  { attempts, onProgress }: { attempts: number; onProgress: (removed: number) => Promise<void> },
): Promise<PurgeCounts> => {
  const { workspaceId, submissionId, number, body } = job
  const found = await findContacts(workspaceId, body)
  const counts = await purgeContacts(sql, { workspaceId, number, found }, onProgress)
  await settlePurge(sql, { workspaceId, submissionId, number, attempts, counts })
  return counts
}
