import type { JobOf } from '../../contract/job.ts'
import type { HashKey } from '../../contract/identity/own-id.ts'
import { purgeKeys } from '../../contract/identity/purge-keys.ts'
import type { PurgeIdentifiers } from '../../contract/receipt.ts'
import type { Sql } from '../postgres.ts'
import type { IdempotencyRow, PurgeRow } from '../store.ts'

/**
 * The most records that one step removes. A step holds the workspace's lock: for 70 to 130 ms with reviews of 50 words on a busy
 * machine of two cores. Most of that time goes into removing what the reviews taught the tagger.
 */
const RECORDS_PER_STEP = 250

export const purgeRow = (hashKey: HashKey, job: JobOf<'purge_contact'>): PurgeRow => ({
  id: job.submissionId,
  number: job.number,
  ...purgeKeys({ hashKey, workspaceId: job.workspaceId }, job.body),
  source: job.body.source ?? null,
})

type Purge = { workspaceId: string; submissionId: string }

/**
 * Removes the records of the contacts that a decided purge (`store`) concerns, in bounded steps that can be repeated after a
 * crash. `onProgress` is called with the number of records that are removed so far.
 */
export const removePurged = async (
  sql: Sql,
  { workspaceId, submissionId }: Purge,
  onProgress: (removed: number) => Promise<void>,
): Promise<void> => {
  for (let removed = 0; ; await onProgress(removed)) {
    const [step] = await sql<[{ removed: number }]>`
      select purge_step(${workspaceId}, ${submissionId}, ${RECORDS_PER_STEP}) as removed`
    if (step.removed === 0) return
    removed += step.removed
  }
}

/** A purge that is decided and not settled: `keys` are the hashes of all keys of its contacts, `contactIds` are their own ids. */
export const findPurge = async (
  sql: Sql,
  { workspaceId, submissionId }: Purge,
): Promise<{ keys: string[]; contactIds: string[] } | undefined> => {
  const [purge] = await sql<{ keys: string[]; contactIds: string[] }[]>`
    select keys, contact_ids as "contactIds" from purge where workspace_id = ${workspaceId} and id = ${submissionId}`
  return purge
}

/** How many rows a purge removed, per table. */
export type PurgeCounts = Record<'contacts' | 'feedback' | 'messages' | 'conversations' | 'deadSubmissions', number>

type Settled = Purge & {
  attempts: number
  identifiers: PurgeIdentifiers
  /** The purge's own key. */
  idempotency?: IdempotencyRow | undefined
}

/**
 * Writes the receipt of a purge with the rows that it removed and keyed hashes of the identifiers that it asked for, and keeps its
 * idempotency key. Harmless to repeat.
 */
export const settlePurge = async (
  sql: Sql,
  { workspaceId, submissionId, attempts, identifiers, idempotency }: Settled,
): Promise<PurgeCounts> => {
  const [settled] = await sql<[{ removed: PurgeCounts }]>`
    select settle_purge_with_key(
      ${workspaceId}, ${submissionId}, ${attempts}, ${sql.json(identifiers)}, ${idempotency ? sql.json(idempotency) : null}
    ) as removed`
  return settled.removed
}
