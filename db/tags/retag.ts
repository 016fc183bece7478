import type { Sql } from '../connection/postgres.ts'
import { LEAST_ID } from '../reads/records.ts'

/**
 * Selects the records to tag again, without records that people tagged, and all records that the
 * search index lacks. `since` and `until` are times of acceptance.
 */
export type Retag = {
  workspaceId: string | undefined
  source: string | undefined
  since: Date | undefined
  until: Date | undefined
  /**
   * Only records that were last tagged by an older version, or never. Undefined means any version.
   */
  olderThanVersion: number | undefined
}

const TABLES = ['feedback', 'conversation'] as const
type RetagTable = (typeof TABLES)[number]

/**
 * For a conversation, the time is that of the submission that it shows: earlier times are not
 * stored.
 */
const conditions = (sql: Sql, table: RetagTable, { workspaceId, source, since, until, olderThanVersion }: Retag) => {
  const acceptedAt = table === 'feedback' ? sql`accepted_at` : sql`acceptance_time(number)`
  return sql`
    (${workspaceId ?? null}::uuid is null or workspace_id = ${workspaceId ?? null}::uuid)
    and (${source ?? null}::text is null or source = ${source ?? null}::text)
    and (${since ?? null}::timestamptz is null or ${acceptedAt} >= ${since ?? null}::timestamptz)
    and (${until ?? null}::timestamptz is null or ${acceptedAt} < ${until ?? null}::timestamptz)
    and (
      (${olderThanVersion ?? null}::int is null or coalesce(tagger_version, 0) < ${olderThanVersion ?? null}::int)
      or not exists (
        select from search_text as t where t.workspace_id = ${sql(table)}.workspace_id and t.record_id = ${sql(table)}.id)
    )`
}

export const countRetag = async (sql: Sql, wanted: Retag): Promise<Record<RetagTable, number>> => {
  const count = async (table: RetagTable): Promise<number> => {
    const [row] = await sql<[{ records: number }]>`
      select count(*)::float8 as records from ${sql(table)} where ${conditions(sql, table, wanted)}`
    return row.records
  }
  return { feedback: await count('feedback'), conversation: await count('conversation') }
}

export type RetagPage = { table: RetagTable; workspaceId: string; ids: string[] }

/**
 * The ids of the selected records in pages. A page is from one workspace and table, and has at most
 * `most` ids.
 */
export const readRetagPages = async function* (sql: Sql, wanted: Retag, most: number): AsyncGenerator<RetagPage> {
  for (const table of TABLES) {
    let after = { workspaceId: LEAST_ID, id: LEAST_ID }
    for (;;) {
      const rows = await sql<{ workspaceId: string; id: string }[]>`
        select workspace_id as "workspaceId", id from ${sql(table)}
        where (workspace_id, id) > (${after.workspaceId}::uuid, ${after.id}::uuid) and ${conditions(sql, table, wanted)}
        order by workspace_id, id limit ${most}`
      for (const [workspaceId, own] of Map.groupBy(rows, (row) => row.workspaceId)) {
        yield { table, workspaceId, ids: own.map(({ id }) => id) }
      }
      const last = rows.at(-1)
      if (last === undefined) break
      after = last
    }
  }
}

/**
 * The ids of conversations without tags from which the purge of this number, or a later purge, has
 * removed messages.
 */
export const findShortened = async (
  sql: Sql,
  { workspaceId, number }: { workspaceId: string; number: number },
): Promise<string[]> => {
  const rows = await sql<{ id: string }[]>`
    select id from conversation where workspace_id = ${workspaceId} and purged_number >= ${number} and tags is null`
  return rows.map(({ id }) => id)
}
