import * as v from 'valibot'
import { type HashKey, idOfEpoch, type Realm } from '../../contract/identity/keys.ts'
import { namedKeys } from '../../contract/identity/purge-keys.ts'
import type { RemovalJob } from '../../contract/jobs.ts'
import { isRemoval, numberAtAcceptance, type Submission } from '../../contract/submission.ts'
import type { Sql } from '../connection/postgres.ts'
import { removeRecords, withoutContacts } from './removal.ts'

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

/**
 * Raises each epoch that is lower in this database, as after the restore of an old backup. Purges
 * the contacts and feedback whose id is a former own id of these keys, and the records that wait for such
 * an id.
 * Submissions since the purge stay. Pass all keys of one purge in one call. Returns how many
 * contacts it removed. A repeated call changes nothing.
 */
export const raisePurgedKeys = async (sql: Sql, keys: readonly PurgedKey[]): Promise<number> => {
  let contacts = 0
  for (const [workspaceId, own] of Map.groupBy(keys, (key) => key.workspaceId)) {
    const raised = await sql<{ purgeId: string }[]>`
      select purge_id as "purgeId" from raise_purged_keys(${workspaceId}::uuid, ${sql.json(own.map(withFormerIds))}::jsonb)`
    for (const { purgeId } of raised) contacts += await removeAndEnd(sql, { workspaceId, purgeId })
  }
  return contacts
}

const withFormerIds = ({ keyId, epoch, number }: PurgedKey) => ({
  keyId,
  epoch,
  number,
  formerIds: Array.from({ length: epoch }, (_, former) => idOfEpoch(keyId, former)),
})

/**
 * Removes the contacts of these keys from the dead submissions that were accepted before the purge
 * of the keys.
 */
export const purgeDeadAgain = async (sql: Sql, hashKey: HashKey, keys: readonly PurgedKey[]): Promise<void> => {
  for (const [workspaceId, own] of Map.groupBy(keys, (key) => key.workspaceId)) {
    const ids = own.map(({ keyId }) => keyId)
    const dead = await sql<{ id: string; submission: string }[]>`
      select d.id, d.submission from dead_submission as d
      where d.workspace_id = ${workspaceId} and d.keys && ${ids}::uuid[]`
    for (const { id, submission } of dead) {
      const realm = { hashKey, workspaceId }
      const whole = JSON.parse(submission) as Submission
      const left = await withoutPurged(sql, realm, whole)
      if (left === whole) continue
      const kept = left === undefined ? null : { submission: JSON.stringify(left), keys: namedKeys(realm, left) }
      // No purge is under way, so the receipt gets no subject but its own id.
      await sql`
        select purge_dead(${workspaceId}::uuid, ${id}::uuid, ${id}::uuid, ${kept === null ? null : sql.json(kept)}::jsonb)`
    }
  }
}

/**
 * A submission without the contacts that were purged after its acceptance; undefined if nothing is
 * left. A purge stays: it can be repeated.
 */
export const withoutPurged = async (
  sql: Sql,
  realm: Realm,
  submission: Submission,
): Promise<Submission | undefined> => {
  if (isRemoval(submission)) return submission
  const gone = await sql<{ id: string }[]>`
    select key_id as id from purged_key
    where workspace_id = ${realm.workspaceId} and key_id = any (${namedKeys(realm, submission)}::uuid[])
      and number > ${numberAtAcceptance(submission)}`
  return gone.length === 0 ? submission : withoutContacts(realm, submission, new Set(gone.map(({ id }) => id)))
}

/**
 * How many of these keys have a lower epoch in this database, and how many contacts from before
 * their purge are left. 0 after `raisePurgedKeys`. A deleted workspace has neither.
 */
export const countUnpurged = async (sql: Sql, keys: readonly PurgedKey[]): Promise<number> => {
  let left = 0
  for (const [workspaceId, own] of Map.groupBy(keys, (key) => key.workspaceId)) {
    const given = sql.json(own.map(withFormerIds))
    const [behind] = await sql<[{ keys: number }]>`
      select count(*)::float8 as keys
      from workspace_progress as g
      cross join jsonb_array_elements(${given}::jsonb) as k
      left join purged_key as p on p.workspace_id = g.workspace_id and p.key_id = (k ->> 'keyId')::uuid
      where g.workspace_id = ${workspaceId} and coalesce(p.epoch, 0) < (k ->> 'epoch')::int`
    const [kept] = await sql<[{ records: number }]>`
      select coalesce(sum(cardinality(e.contacts) + cardinality(e.feedback)), 0)::float8 as records
      from jsonb_array_elements(${given}::jsonb) as k
      cross join lateral records_to_end(
        ${workspaceId}, jsonb_build_array(k -> 'formerIds'), (k ->> 'number')::bigint
      ) as e`
    left += behind.keys + kept.records
  }
  return left
}

/** Returns how many contacts the purge removed; 0 if a worker has ended it first. */
const removeAndEnd = async (sql: Sql, purge: RemovalJob): Promise<number> => {
  await removeRecords(sql, purge, async () => {})
  const [done] = await sql<{ contacts: number }[]>`
    delete from purge where workspace_id = ${purge.workspaceId} and id = ${purge.purgeId}
    returning contacts::int as contacts`
  return done?.contacts ?? 0
}
