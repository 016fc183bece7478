import type { Sql } from '../connection/postgres.ts'
import { listFields } from '../sources.ts'
import { OWNER_JOINS } from './field-values.ts'
import { conditionOf, currentFilters, type FeedbackFilters } from './filters.ts'
import { checkTexts } from './search.ts'

type MatchingRequest = { workspaceId: string; filters: FeedbackFilters; ids: readonly string[] }

/** Which of the feedback match filters now. Reads the texts, since the search index can lack new ones. */
export const findMatching = async (
  sql: Sql,
  { workspaceId, filters: { q: search, ...filters }, ids }: MatchingRequest,
): Promise<ReadonlySet<string>> => {
  const asked = await currentFilters(sql, { workspaceId, filters })
  const declared = filters.fields === undefined ? [] : await listFields(sql, workspaceId)
  const rows = await sql.unsafe<{ id: string }[]>(
    `select r.id from feedback as r ${OWNER_JOINS}
    where r.workspace_id = $1::uuid and ($2::jsonb is not null) and r.id = any ($3::uuid[]) and (${conditionOf(filters, declared)})`,
    [workspaceId, sql.json(asked), [...ids]],
  )
  const matching = rows.map(({ id }) => id)
  return new Set(search ? (await checkTexts(sql, { workspaceId, search, ids: matching })).matching : matching)
}
