import type { Sql } from '../../db/connection/postgres.ts'
import { until } from './until.ts'

/** Waits until the search index has all feedback of a workspace. */
export const untilIndexed = (sql: Sql, workspaceId: string): Promise<unknown> =>
  until('all feedback is in the search index', async () => {
    const [row] = await sql<[{ isIndexed: boolean }]>`
      select not exists (
        select from feedback as f where f.workspace_id = ${workspaceId} and not exists (
          select from search_text as t where t.workspace_id = f.workspace_id and t.record_id = f.id
        )
      ) as "isIndexed"`
    return row.isIndexed
  })
