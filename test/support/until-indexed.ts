import type { Sql } from '../../db/connection/postgres.ts'
import { until } from './until.ts'

/** Waits until the search index has all texts of a workspace. */
export const untilIndexed = (sql: Sql, workspaceId: string): Promise<unknown> =>
  until('all texts are in the search index', async () => {
    const [row] = await sql<[{ isIndexed: boolean }]>`
      select not exists (
        select from (
          select id from feedback where workspace_id = ${workspaceId}
          union all select id from conversation where workspace_id = ${workspaceId}
          union all select id from message where workspace_id = ${workspaceId}
        ) as r where not exists (
          select from search_text as t where t.workspace_id = ${workspaceId} and t.record_id = r.id
        )
      ) as "isIndexed"`
    return row.isIndexed
  })

/** Waits until the tagger has read all feedback: then no record changes by itself. */
export const untilRead = (sql: Sql, workspaceId: string): Promise<unknown> =>
  until('the tagger has read all feedback', async () => {
    const unread = await sql`select from feedback where workspace_id = ${workspaceId} and tagger_version is null`
    return unread.count === 0
  })
