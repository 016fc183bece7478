import type { Sql } from '../connection/postgres.ts'

/** A text with its terms as stored hashes, and the number of its theme. */
export type TextOfTheme = { id: string; terms: number[]; theme: number }

/** The texts that people put into themes, in the order of acceptance. */
export const readExamples = (sql: Sql, workspaceId: string): Promise<TextOfTheme[]> =>
  sql<TextOfTheme[]>`
    select s.record_id as id, to_json(s.terms) as terms, s.theme_cell / 2 as theme
    from meaning_share as s join feedback as f on f.workspace_id = s.workspace_id and f.id = s.record_id
    where s.workspace_id = ${workspaceId} and f.theme_by = 'person' and s.theme_cell is not null
    order by s.number, s.record_id`.execute()

const TEXTS_AT_ONCE = 500

/** The feedback that was placed by its likeness, in pages. */
export const readLike = async function* (sql: Sql, workspaceId: string): AsyncGenerator<TextOfTheme[]> {
  let after = '00000000-0000-0000-0000-000000000000'
  for (;;) {
    const rows = await sql<TextOfTheme[]>`
      select s.record_id as id, to_json(s.terms) as terms, s.theme_cell / 2 as theme
      from meaning_share as s join feedback as f on f.workspace_id = s.workspace_id and f.id = s.record_id
      where s.workspace_id = ${workspaceId} and s.record_id > ${after}::uuid and f.theme_by = 'likeness'
        and s.theme_cell is not null
      order by s.record_id limit ${TEXTS_AT_ONCE}`
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    after = last.id
  }
}

/** Moves texts that are still placed by likeness. Returns how many it moved. */
export const moveLike = async (
  sql: Sql,
  workspaceId: string,
  moved: readonly { id: string; theme: number; cell: number }[],
): Promise<number> => {
  const [row] = await sql<[{ moved: number }]>`
    select move_like(${workspaceId}::uuid, ${sql.json([...moved])}::jsonb) as moved`
  return row.moved
}
