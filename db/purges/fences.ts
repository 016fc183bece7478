import * as v from 'valibot'
import type { Sql } from '../postgres.ts'
import { removePurged } from './purge.ts'

const uuid = v.pipe(v.string(), v.uuid())
const number = v.pipe(v.number(), v.safeInteger())
const fence = v.object({
  workspaceId: uuid,
  keyId: uuid,
  number,
  id: uuid,
  nextId: uuid,
  groupId: v.nullable(uuid),
  sourceHash: v.nullable(uuid),
  fromNumber: v.nullable(number),
})

/** What a purge left of one key. Without the hash key, nothing in it tells whose key it was. */
export type Fence = v.InferOutput<typeof fence>

const ROWS_AT_ONCE = 1_000

/** All fences of an installation, in the order of their purges. */
export const readFences = async function* (sql: Sql): AsyncGenerator<Fence> {
  const fences = sql<Fence[]>`
    select workspace_id as "workspaceId", key_id as "keyId", number::float8 as number, id, next_id as "nextId",
      group_id as "groupId", source_hash as "sourceHash", from_number::float8 as "fromNumber"
    from fence order by number, key_id`
  for await (const rows of fences.cursor(ROWS_AT_ONCE)) yield* rows
}

type Raised = { workspaceId: string; submissionId: string }

/**
 * Adds the given fences that this database lacks, as after the restore of a backup that is older than their purges, and purges
 * their contacts again. Returns how many contacts it removed. Nothing may be submitted or processed meanwhile.
 */
export const raiseFences = async (sql: Sql, fences: readonly Fence[]): Promise<number> => {
  const raised = await sql<Raised[]>`
    select workspace_id as "workspaceId", purge_id as "submissionId" from raise_fences(${sql.json([...fences])})`
  let contacts = 0
  for (const purge of raised) {
    await removePurged(sql, purge, async () => {})
    const [done] = await sql<[{ contacts: number }]>`
      delete from purge where workspace_id = ${purge.workspaceId} and id = ${purge.submissionId}
      returning contacts::int as contacts`
    contacts += done.contacts
  }
  return contacts
}

/** @throws when the line is not the JSON text of a fence. */
export const parseFence = (line: string): Fence => v.parse(fence, JSON.parse(line))
