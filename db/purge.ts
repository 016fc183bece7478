import type { FoundContacts } from './find-contacts.ts'
import type { Sql } from './postgres.ts'

const RECORDS_PER_STEP = 1_000

export type PurgeCounts = { feedback: number; messages: number; conversations: number; contacts: number }

/**
 * Removes contacts with everything that belongs to them and was accepted before the purge, in steps that can be repeated
 * after a crash. `onProgress` hears the records removed so far.
 */
export const purgeContacts = async (
  sql: Sql,
  { workspaceId, number, found }: { workspaceId: string; number: number; found: FoundContacts },
  onProgress: (removed: number) => Promise<void>,
): Promise<PurgeCounts> => {
  const { contactIds: ids, externalGroup } = found
  let removed = 0
  const inSteps = async (step: () => Promise<{ removed: number }[]>): Promise<number> => {
    let sum = 0
    for (;;) {
      const [row] = await step()
      sum += row!.removed
      removed += row!.removed
      await onProgress(removed)
      if (row!.removed < RECORDS_PER_STEP) return sum
    }
  }
  const feedback = await inSteps(
    () => sql`select purge_feedback(
      ${workspaceId}, ${ids}::uuid[], ${externalGroup}::uuid, ${number}::bigint, ${RECORDS_PER_STEP}) as removed`,
  )
  await inSteps(
    () =>
      sql`select purge_superseded(${workspaceId}, ${ids}::uuid[], ${number}::bigint, ${RECORDS_PER_STEP}) as removed`,
  )
  const messages = await inSteps(
    () => sql`select purge_messages(${workspaceId}, ${ids}::uuid[], ${number}::bigint, ${RECORDS_PER_STEP}) as removed`,
  )
  const conversations = await inSteps(
    () =>
      sql`select purge_conversations(${workspaceId}, ${ids}::uuid[], ${number}::bigint, ${RECORDS_PER_STEP}) as removed`,
  )
  const [contacts] = await sql<{ removed: number }[]>`select purge_identity(${workspaceId}, ${ids}::uuid[]) as removed`
  return { feedback, messages, conversations, contacts: contacts!.removed }
}

export type SettledPurge = {
  workspaceId: string
  submissionId: string
  number: number
  attempts: number
  counts: PurgeCounts
}

/** Writes the receipt of a purge: what it removed, per table, and nothing of whom it concerned. */
export const settlePurge = async (sql: Sql, purge: SettledPurge): Promise<void> => {
  const { workspaceId, submissionId, number, attempts, counts } = purge
  await sql`select settle_purge(${workspaceId}, ${submissionId}, ${number}::bigint, ${attempts}, ${sql.json(counts)})`
}
