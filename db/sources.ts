import type { Sql } from './connection/postgres.ts'

/** The ratings that mean "as bad as possible" and "as good as possible". */
export type Scale = readonly [low: number, high: number]

/**
 * What a person says about a source. `scale`: null if there is none; absent if the ratings are to
 * show it. `link`: the address of a record in its source, with `{sourceId}` in place of its id.
 */
export type SourceSettings = { scale?: Scale | null | undefined; link?: string | null | undefined }

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
}

/** Replaces the settings of a source. */
export const setSource = async (
  sql: Sql,
  { workspaceId, source }: { workspaceId: string; source: string },
  { scale, link = null }: SourceSettings,
): Promise<void> => {
  const [low, high] = scale ?? [null, null]
  await sql`
    insert into source (workspace_id, source, is_scale_given, given_low, given_high, link)
    values (${workspaceId}, ${source}, ${scale !== undefined}, ${low}, ${high}, ${link})
    on conflict (workspace_id, source) do update set is_scale_given = excluded.is_scale_given,
      given_low = excluded.given_low, given_high = excluded.given_high, link = excluded.link`
}

/** All sources of a workspace with feedback or settings, by name. */
export const listSources = async (sql: Sql, workspaceId: string): Promise<Source[]> => {
  const rows = await sql<(Source & { low: number | null; high: number | null })[]>`
    with counted as (
      select source, count(*)::float8 as feedback from feedback where workspace_id = ${workspaceId} group by source
    ), known as (
      select * from source where workspace_id = ${workspaceId}
    )
    select source, coalesce(c.feedback, 0) as feedback, coalesce(k.ratings, 0)::float8 as ratings,
      k.least_rating as "leastRating", k.most_rating as "mostRating",
      k.scale_low as low, k.scale_high as high, coalesce(k.is_scale_given, false) as "isScaleGiven", k.link
    from counted as c full join known as k using (source)
    order by source`
  return rows.map(({ low, high, ...source }) => ({
    ...source,
    scale: low === null || high === null ? null : [low, high],
  }))
}
