import type { PurgedContacts } from '../../contract/identity/choose-purged.ts'
import type { Idempotency } from '../../contract/submission.ts'
import type { PurgeIdentifiers } from '../../contract/receipt.ts'
import type { Sql } from '../connection/postgres.ts'
import type { LoadedPurge } from './load-purge.ts'

/**
 * The most records of one step. A step holds the workspace's lock. Most of its time goes into the
 * tag memory, which gives back the shares of the records.
 */
const RECORDS_PER_STEP = 250

export type PurgeOutcome = 'decided' | 'unmatched' | 'busy'

type Decision = {
  workspaceId: string
  submissionId: string
  number: number
  /** The number at its acceptance; a replay has a later one. */
  acceptanceNumber: number
  identifiers: PurgeIdentifiers
  idempotency: Idempotency | undefined
  loaded: LoadedPurge
  chosen: PurgedContacts
}

/**
 * Decides a purge in its place: removes its contacts and their keys, and moves the position.
 * `decided`: records are to be removed. `unmatched`: it matched nothing. `busy`: the position has
 * changed since it was loaded.
 */
export const savePurge = async (sql: Sql, decision: Decision): Promise<PurgeOutcome> => {
  const { workspaceId, submissionId, number, acceptanceNumber, identifiers, idempotency, loaded, chosen } = decision
  const purge = {
    id: submissionId,
    number,
    acceptanceNumber,
    identifiers,
    idempotencyKey: idempotency?.key ?? null,
    bodyHash: idempotency?.body ?? null,
  }
  const [row] = await sql<[{ outcome: PurgeOutcome }]>`
    select decide_purge(
      ${workspaceId}::uuid, ${loaded.position}::bigint, ${sql.json(purge)}, ${chosen.contactIds}::uuid[],
      ${chosen.endedKeys}::uuid[], ${chosen.keys}::uuid[], ${chosen.formerKeys}::uuid[], ${loaded.idKey}::uuid,
      ${loaded.waitingKey}::uuid
    ) as outcome`
  return row.outcome
}

type Purge = { workspaceId: string; purgeId: string }

/**
 * A decided purge. `keys`: the keys to look for in dead submissions; `subjectIds`: the subjects of
 * its submissions.
 */
export type PurgeUnderWay = { number: number; keys: string[]; subjectIds: string[] }

/** Undefined once the purge is finished. */
export const findPurge = async (sql: Sql, { workspaceId, purgeId }: Purge): Promise<PurgeUnderWay | undefined> => {
  const [purge] = await sql<PurgeUnderWay[]>`
    select number::float8 as number, keys, contact_ids || subject_ids || id as "subjectIds"
    from purge where workspace_id = ${workspaceId} and id = ${purgeId}`
  return purge
}

/**
 * Removes the records of a decided purge in bounded steps, which can be repeated after a crash.
 * `onProgress` gets the number of records removed so far.
 */
export const removePurged = async (
  sql: Sql,
  { workspaceId, purgeId }: Purge,
  onProgress: (removed: number) => Promise<void>,
): Promise<void> => {
  for (let removed = 0; ; await onProgress(removed)) {
    const [step] = await sql<[{ removed: number }]>`
      select purge_step(${workspaceId}::uuid, ${purgeId}::uuid, ${RECORDS_PER_STEP}) as removed`
    if (step.removed === 0) return
    removed += step.removed
  }
}

/** The number of rows that a purge removed, by table. */
export type PurgeCounts = Record<'contacts' | 'feedback' | 'messages' | 'conversations' | 'deadSubmissions', number>

/**
 * Completes the receipt of a purge whose records are removed. Returns undefined if it was complete
 * before.
 */
export const finishPurge = async (
  sql: Sql,
  { workspaceId, purgeId, attempts }: Purge & { attempts: number },
): Promise<PurgeCounts | undefined> => {
  const [finished] = await sql<[{ removed: PurgeCounts | null }]>`
    select finish_purge(${workspaceId}::uuid, ${purgeId}::uuid, ${attempts}) as removed`
  return finished.removed ?? undefined
}
