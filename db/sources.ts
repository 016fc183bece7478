import { MAX_WORKSPACE_FIELDS } from '../contract/limits.ts'
import type { DeclaredField, SourceSettings } from '../contract/source-settings.ts'
import type { Sql } from './connection/postgres.ts'

/** The ratings that mean "as bad as possible" and "as good as possible". */
export type Scale = readonly [low: number, high: number]

/** `ratings`: all that the source has sent, with the least and the greatest. */
export type Source = {
  source: string
  feedback: number
  ratings: number
  leastRating: number | null
  mostRating: number | null
  scale: Scale | null
  isScaleGiven: boolean
  link: string | null
  fields: DeclaredField[]
}

/**
 * Replaces the settings of a source, unless the workspace would have too many fields. Returns
 * undefined if the workspace does not exist.
 */
export const setSource = async (
  sql: Sql,
  { workspaceId, source }: { workspaceId: string; source: string },
  { scale, link = null, fields = [] }: SourceSettings,
): Promise<Omit<Source, 'feedback'> | 'too-many-fields' | undefined> => {
  const [low, high] = scale ?? [null, null]
  const declared = fields.map(({ name, path, of }) => ({ name, path, of }))
  const [set] = await sql<[{ isFull: boolean | null }]>`
    select set_source(
      ${workspaceId}::uuid, ${source}::text, ${scale !== undefined}::boolean, ${low}::float8, ${high}::float8, ${link}::text,
      ${declared.length === 0 ? null : sql.json(declared)}::jsonb, ${MAX_WORKSPACE_FIELDS}::integer) as "isFull"`
  if (set.isFull === null) return undefined
  if (set.isFull) return 'too-many-fields'
  const [row] = await sql<[SourceRow?]>`
    select source, ${settingsOf(sql)} from source as k where workspace_id = ${workspaceId} and source = ${source}`
  return row && sourceOf(row)
}

/** A field, and a source that declares it. */
export type SourceField = DeclaredField & { source: string }

/** The declared fields of a workspace, by the names of their sources. */
export const listFields = async (sql: Sql, workspaceId: string): Promise<SourceField[]> =>
  sql<SourceField[]>`
    select s.source, e.name, e.path, e.of from source as s
    cross join jsonb_to_recordset(s.fields) as e (name text, path text, "of" text)
    where s.workspace_id = ${workspaceId} and s.fields is not null
    order by s.source collate "C"`

/** The sources with ratings or settings, without their counts of feedback. */
export const listSourceSettings = async (sql: Sql, workspaceId: string): Promise<Omit<Source, 'feedback'>[]> => {
  const rows = await sql<SourceRow[]>`
    select source, ${settingsOf(sql)} from source as k where workspace_id = ${workspaceId} order by source`
  return rows.map(sourceOf)
}

/** `after`: the name of the last source of the previous page. */
export type SourcesWanted = { source?: string; after?: string | undefined; limit?: number }

/** The sources of a workspace with feedback or settings, by name. */
export const listSources = async (
  sql: Sql,
  workspaceId: string,
  { source, after, limit }: SourcesWanted = {},
): Promise<Source[]> => {
  const wanted = sql`workspace_id = ${workspaceId} ${source === undefined ? sql`` : sql`and source = ${source}`}
    ${after === undefined ? sql`` : sql`and source > ${after}`}`
  const rows = await sql<(SourceRow & Source)[]>`
    with counted as (
      select source, count(*)::float8 as feedback from feedback where ${wanted} and not is_hidden group by source
    ), known as (
      select * from source where ${wanted}
    )
    select source, coalesce(c.feedback, 0) as feedback, ${settingsOf(sql)}
    from counted as c full join known as k using (source)
    order by source ${limit === undefined ? sql`` : sql`limit ${limit}`}`
  return rows.map(sourceOf)
}

/** The columns of a row `k` of `source`. All are null for a source without ratings and settings. */
const settingsOf = (sql: Sql) => sql`coalesce(k.ratings, 0)::float8 as ratings,
  k.least_rating as "leastRating", k.most_rating as "mostRating",
  k.scale_low as low, k.scale_high as high, coalesce(k.is_scale_given, false) as "isScaleGiven", k.link,
  coalesce(k.fields, '[]') as fields`

type SourceRow = Omit<Source, 'feedback' | 'scale'> & { low: number | null; high: number | null }

const sourceOf = <Row extends SourceRow>({ low, high, ...source }: Row) => ({
  ...source,
  scale: low === null || high === null ? null : ([low, high] as const),
})
