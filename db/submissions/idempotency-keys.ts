import { IDEMPOTENCY_SECONDS } from '../../contract/limits.ts'
import type { Sql } from '../postgres.ts'

/** `body` is the keyed hash of the body that came with the key. */
export type HeldIdempotencyKey = { body: string; submissionId: string; number: number }

/**
 * What is stored of each idempotency key that is asked for, in the same order; null where the key is free, or has expired. One
 * query serves any number of workspaces.
 */
export const findIdempotencyKeys = async (
  sql: Sql,
  asked: readonly { workspaceId: string; key: string }[],
): Promise<(HeldIdempotencyKey | null)[]> => {
  if (asked.length === 0) return []
  const workspaceIds = asked.map(({ workspaceId }) => workspaceId)
  const keys = asked.map(({ key }) => key)
  // The number is compared outside, so that nobody looks up a key by the index that upkeep has.
  const rows = await sql<(HeldIdempotencyKey | { submissionId: null })[]>`
    select held.body, held.submission_id as "submissionId", held.number::float8 as number
    from unnest(${workspaceIds}::uuid[], ${keys}::text[]) with ordinality as a (workspace_id, key, place)
    left join lateral (
      select body, submission_id, number from idempotency_key where workspace_id = a.workspace_id and key = a.key offset 0
    ) as held on held.number > ${oldestNumber(sql)}
    order by a.place`
  return rows.map((row) => (row.submissionId === null ? null : row))
}

/** An idempotency key, and the number of the submission that has it. */
export type NumberedKey = { key: string; number: number }

type Concerning = { workspaceId: string; keyIds: readonly string[]; number: number; limit: number }

/** At most `limit` keys of submissions that concern any of these identity keys and were accepted before `number`. */
export const keysToFree = (
  sql: Sql,
  { workspaceId, keyIds, number, limit }: Concerning,
): Promise<(NumberedKey & { submissionId: string })[]> =>
  sql<(NumberedKey & { submissionId: string })[]>`
    select key, submission_id as "submissionId", number::float8 as number
    from (
      select key, submission_id, number from idempotency_key
      where workspace_id is not distinct from ${workspaceId} and concerns && ${[...keyIds]}::uuid[] offset 0
    ) as concerned
    where number < ${number} limit ${limit}`.execute()

/** Deletes those of these keys that still are of the submissions with these numbers. */
export const freeKeys = async (
  sql: Sql,
  { workspaceId, keys }: { workspaceId: string; keys: readonly NumberedKey[] },
): Promise<void> => {
  if (keys.length === 0) return
  const numbers = Object.fromEntries(keys.map(({ key, number }) => [key, number]))
  await sql`
    delete from idempotency_key
    where workspace_id = ${workspaceId} and key = any (${Object.keys(numbers)}::text[])
      and number = (${sql.json(numbers)}::jsonb ->> key)::bigint`
}

const ROWS_PER_STEP = 5_000

/** Deletes in steps the idempotency keys that have expired, and returns how many. */
export const expireIdempotencyKeys = async (sql: Sql): Promise<number> => {
  let deleted = 0
  for (;;) {
    // Partitions have the same ctids, hence the number beside them; `+ 0` keeps each step from reading all that has expired by it.
    const { count } = await sql`
      delete from idempotency_key where number + 0 <= ${oldestNumber(sql)} and ctid = any (array(
        select ctid from idempotency_key where number <= ${oldestNumber(sql)} order by number limit ${ROWS_PER_STEP}))`
    deleted += count
    if (count < ROWS_PER_STEP) return deleted
  }
}

/** Acceptance numbers are microseconds since 1970. */
const oldestNumber = (sql: Sql) => sql`((extract(epoch from now()) - ${IDEMPOTENCY_SECONDS}) * 1000000)::bigint`
