import type { Sql } from '../db/connection/postgres.ts'

export type StoredSoFar = { feedback: number; tagged: number; conversations: number }

export type DemoReport = {
  tables: { table: string; rows: number }[]
  tags: { tag: string; uses: number }[]
  example: FeedbackInFull | undefined
}

export type FeedbackInFull = {
  id: string
  source_id: string | null
  description: string
  tags: string[]
  rating: number | null
  source_data: unknown
  accepted_at: Date
  contact: unknown
  account: unknown
  project: unknown
}

const MAX_TAGS = 10

/** The numbers of a source's stored and tagged feedback and conversations. */
export const storedSoFar = async (sql: Sql, source: string): Promise<StoredSoFar> => {
  const [row] = await sql<StoredSoFar[]>`
    select
      (select count(*)::int from feedback where source = ${source}) as feedback,
      (select count(*)::int from feedback where source = ${source} and tags is not null) as tagged,
      (select count(*)::int from conversation where source = ${source}) as conversations`
  if (row === undefined) throw new Error('A select without from gave no row.')
  return row
}

/** The numbers of records in the workspaces with feedback from the source. */
export const demoReport = async (sql: Sql, source: string): Promise<DemoReport> => {
  const [tables, tags, example] = await Promise.all([
    countRows(sql, source),
    mostFrequentTags(sql, source),
    shortestFullFeedback(sql, source),
  ])
  return { tables, tags, example }
}

const countRows = (sql: Sql, source: string): Promise<DemoReport['tables']> => {
  return sql<DemoReport['tables']>`
    with of_source as materialized (select distinct workspace_id as id from feedback where source = ${source})
    select 'contact' as "table", count(*)::int as rows from contact where workspace_id in (select id from of_source)
    union all
    select 'contact_external_id', count(*)::int from contact_external_id where workspace_id in (select id from of_source)
    union all
    select 'account', count(*)::int from account where workspace_id in (select id from of_source)
    union all
    select 'account_external_id', count(*)::int from account_external_id where workspace_id in (select id from of_source)
    union all
    select 'project', count(*)::int from project where workspace_id in (select id from of_source)
    union all
    select 'feedback', count(*)::int from feedback where workspace_id in (select id from of_source)
    union all
    select 'feedback_category', count(*)::int from feedback_category where workspace_id in (select id from of_source)
    union all
    select 'conversation', count(*)::int from conversation where workspace_id in (select id from of_source)
    union all
    select 'message', count(*)::int from message where workspace_id in (select id from of_source)
    union all
    select 'submission', count(*)::int from submission where workspace_id in (select id from of_source)`
}

const mostFrequentTags = (sql: Sql, source: string): Promise<DemoReport['tags']> => {
  return sql<DemoReport['tags']>`
    select tag, count(*)::int as uses
    from feedback, unnest(tags) as tag
    where source = ${source}
    group by tag
    order by uses desc, tag
    limit ${MAX_TAGS}`
}

/** One short feedback with as many of its parts as possible. */
const shortestFullFeedback = async (sql: Sql, source: string): Promise<FeedbackInFull | undefined> => {
  const [row] = await sql<FeedbackInFull[]>`
    select
      f.id, f.source_id, f.description, coalesce(f.tags, '{}') as tags, f.rating, f.source_data, f.accepted_at,
      case when c.id is not null then
        jsonb_build_object('id', c.id, 'name', c.name, 'email', c.email, 'properties', c.properties)
      end as contact,
      case when a.id is not null then
        jsonb_build_object(
          'id', a.id, 'name', a.name, 'domain', a.domain, 'contract_value', a.contract_value, 'properties', a.properties)
      end as account,
      case when p.id is not null then jsonb_build_object('id', p.id, 'name', p.name) end as project
    from feedback as f
    left join contact as c on c.workspace_id = f.workspace_id and c.id = f.contact_id
    left join account as a on a.workspace_id = f.workspace_id and a.id = f.account_id
    left join project as p on p.workspace_id = f.workspace_id and p.id = f.project_id
    where f.source = ${source}
    order by
      num_nonnulls(c.id, a.id, p.id) desc, cardinality(f.tags) >= 2 desc nulls last, length(f.description), f.id
    limit 1`
  return row
}
