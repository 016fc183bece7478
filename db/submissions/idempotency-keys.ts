import { IDEMPOTENCY_SECONDS } from '../../contract/limits.ts'
import type { IdempotencyRecord } from '../../contract/submission.ts'
import type { Sql } from '../connection/postgres.ts'
import { ofEachWorkspace } from '../of-each-workspace.ts'

/**
 * The stored record of each idempotency key, in the same order; null for a key that is free or has
 * expired. Expired keys stay in the receipts, so only the latest submission with a key counts, and
 * only for a day.
 */
export const findIdempotencyKeys = (
  sql: Sql,
  asked: readonly { workspaceId: string; key: string }[],
): Promise<(IdempotencyRecord | null)[]> =>
  ofEachWorkspace(asked, async (workspaceId, own) => {
    const rows = await sql<(IdempotencyRecord & { place: number })[]>`
      select a.place::int as place, held.body, held.submission_id as "submissionId", held.number::float8 as number
      from unnest(${own.map(({ key }) => key)}::text[]) with ordinality as a (key, place)
      cross join lateral (
        select s.body_hash as body, s.id as submission_id, s.acceptance_number as number
        from submission as s where s.workspace_id = ${workspaceId} and s.idempotency_key = a.key
        order by s.acceptance_number desc limit 1
      ) as held
      where held.number > ((extract(epoch from now()) - ${IDEMPOTENCY_SECONDS}) * 1000000)::bigint`
    const held = new Map(rows.map(({ place, ...row }) => [place, row]))
    return own.map((_, at) => held.get(at + 1) ?? null)
  })

/** An idempotency key and its submission. */
type KeyToFree = { key: string; submissionId: string; number: number }

type KeySearch = { workspaceId: string; subjectIds: readonly string[]; number: number; limit: number }

/**
 * At most `limit` keys of submissions that concern one of these subjects and were accepted before
 * `number`.
 */
export const findKeysToFree = (sql: Sql, { workspaceId, subjectIds, number, limit }: KeySearch): Promise<KeyToFree[]> =>
  sql<KeyToFree[]>`
    select s.idempotency_key as key, s.id as "submissionId", s.acceptance_number::float8 as number
    from unnest(${[...subjectIds]}::uuid[]) as w (subject_id)
    cross join lateral (
      select k.id, k.idempotency_key, k.acceptance_number from submission as k
      where k.workspace_id = ${workspaceId} and k.subject_id = w.subject_id offset 0
    ) as s
    where s.acceptance_number < ${number} and s.idempotency_key is not null
    limit ${limit}`.execute()

/** Removes the idempotency keys of these submissions, with the hashes of their bodies. */
export const freeKeys = async (
  sql: Sql,
  { workspaceId, submissionIds }: { workspaceId: string; submissionIds: readonly string[] },
): Promise<void> => {
  if (submissionIds.length === 0) return
  await sql`
    update submission set idempotency_key = null, body_hash = null, subject_id = null
    where workspace_id = ${workspaceId} and id = any (${[...submissionIds]}::uuid[])`
}
