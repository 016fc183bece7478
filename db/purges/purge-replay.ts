import * as v from 'valibot'
import { idOfEpoch } from '../../contract/identity/keys.ts'
import type { Sql } from '../connection/postgres.ts'
import { removeRecords } from './removal.ts'

const purgedKey = v.object({
  workspaceId: v.pipe(v.string(), v.uuid()),
  keyId: v.pipe(v.string(), v.uuid()),
  epoch: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  number: v.pipe(v.number(), v.safeInteger()),
})

/**
 * A purged key as the database keeps it: its keyed hash, which reveals nothing without the hash
 * key. `number`: of the last purge.
 */
export type PurgedKey = v.InferOutput<typeof purgedKey>

const ROWS_AT_ONCE = 1_000

/** All purged keys of an installation, in the order of their last purges. */
export const readPurgedKeys = async function* (sql: Sql): AsyncGenerator<PurgedKey> {
  const keys = sql<PurgedKey[]>`
    select workspace_id as "workspaceId", key_id as "keyId", epoch, number::float8 as number
    from purged_key order by number, workspace_id, key_id`
  for await (const rows of keys.cursor(ROWS_AT_ONCE)) yield* rows
}

/** @throws if the line is not the JSON text of a purged key. */
export const parsePurgedKey = (line: string): PurgedKey => v.parse(purgedKey, JSON.parse(line))

type Raised = { workspaceId: string; purgeId: string }

/**
 * Raises each epoch that is lower in this database, as after the restore of an old backup. Purges
 * the contacts whose id is a former own id of these keys, and the records that wait for such an id.
 * Submissions since the purge stay. Pass all keys of one purge in one call. Returns how many
 * contacts it removed. A repeated call changes nothing.
 */
export const raisePurgedKeys = async (sql: Sql, keys: readonly PurgedKey[]): Promise<number> => {
  const rows = keys.map((key) => ({
    ...key,
    formerIds: Array.from({ length: key.epoch }, (_, former) => idOfEpoch(key.keyId, former)),
  }))
  const raised = await sql<Raised[]>`
    select workspace_id as "workspaceId", purge_id as "purgeId" from raise_purged_keys(${sql.json(rows)})`
  let contacts = 0
  for (const purge of raised) {
    await removeRecords(sql, purge, async () => {})
    const [done] = await sql<{ contacts: number }[]>`
      delete from purge where workspace_id = ${purge.workspaceId} and id = ${purge.purgeId}
      returning contacts::int as contacts`
    // A worker may have ended the purge first.
    contacts += done?.contacts ?? 0
  }
  return contacts
}
