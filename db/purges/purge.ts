import type { PurgedContacts } from '../../contract/identity/choose-purged.ts'
import type { Idempotency } from '../../contract/idempotency.ts'
import type { PurgeIdentifiers } from '../../contract/receipt.ts'
import type { Sql } from '../connection/postgres.ts'
import type { LoadedPurge } from './load-purge.ts'

/**
 * The most records that one step removes. A step holds the workspace's lock, most of the time to
 * take out what the records taught the tagger.
 */
const RECORDS_PER_STEP = 250

export type PurgeOutcome = 'decided' | 'nobody' | 'busy'

type Decision = {
  workspaceId: string
  submissionId: string
  number: number
  /** The number that it was accepted with: a replay has a later one. */
  acceptanceNumber: number
  identifiers: PurgeIdentifiers
  idempotency: Idempotency | undefined
  loaded: LoadedPurge
  chosen: PurgedContacts
}

/**
 * Decides a purge in its place: its contacts and their keys go, and the position moves on.
 * `decided`: the records are to be removed. `nobody`: it found nothing. `busy`: the position is not
 * the loaded one any more.
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
 * A decided purge. `keys`: the keys of dead submissions to look for; `subjectIds`: what its
 * submissions were about.
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
 * `onProgress` hears how many records are removed so far.
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

/** How many rows a purge removed, per table. */
export type PurgeCounts = Record<'contacts' | 'feedback' | 'messages' | 'conversations' | 'deadSubmissions', number>

/**
 * Completes the receipt of a purge whose records are removed; undefined if it was complete before.
 */
export const finishPurge = async (
  sql: Sql,
  { workspaceId, purgeId, attempts }: Purge & { attempts: number },
): Promise<PurgeCounts | undefined> => {
  const [finished] = await sql<[{ removed: PurgeCounts | null }]>`
    select finish_purge(${workspaceId}::uuid, ${purgeId}::uuid, ${attempts}) as removed`
  return finished.removed ?? undefined
}
