import type { Sql } from '../../db/connection/postgres.ts'
import { BAD } from '../../db/reads/counts.ts'
import type {
  Account,
  FeedbackExample,
  News,
  Period,
  Project,
  Report,
  SourceRatings,
  TrendStep,
  Topic,
  ReportTotals,
} from './report.ts'

const MOST_TOPICS = 12
const MOST_NEWS = 6
const MOST_ACCOUNTS = 12
const MOST_SOURCES = 12
const MOST_PROJECTS = 12
const EXAMPLES = 3
const TAGS_OF_ACCOUNT = 3

/** `id` is that of the requested workspace. Every statement here filters by it. */
type ReportRequest = { readonly id: string; readonly period: Period }

/** Reads a report from the tables and views that readers may read. */
export const readReport = async (
  sql: Sql,
  workspace: { id: string; name: string },
  period: Period,
): Promise<Report> => {
  const asked = { id: workspace.id, period }
  const { now, before } = await readTotals(sql, asked)
  const steps = await readSteps(sql, asked)
  const topics = await readTopics(sql, asked)
  const news = await readNews(sql, asked)
  const shown = [...new Set([...topics, ...news].map(({ tag }) => tag))]
  const examples = Map.groupBy(await readExamples(sql, asked, shown), ({ tag }) => tag)
  const stepsOf = await readTopicSteps(sql, asked, topics)
  const withExamples = <Row extends { tag: string }>(rows: readonly Row[]) =>
    rows.map((row) => ({ ...row, examples: examples.get(row.tag) ?? [] }))
  return {
    workspace: workspace.name,
    period,
    now,
    before,
    steps,
    topics: withExamples(topics).map((topic) => ({
      ...topic,
      steps: steps.map(({ begin }) => stepsOf.get(`${begin.getTime()} ${topic.tag}`) ?? 0),
    })),
    news: withExamples(news),
    accounts: await readAccounts(sql, asked),
    sources: await readSources(sql, asked),
    projects: await readProjects(sql, asked),
  }
}

/** The members of `Satisfaction`, of grouped rows that have a `satisfaction`. */
const figuresOf = (sql: Sql) => sql`count(satisfaction)::int as rated, avg(satisfaction) as satisfaction,
  count(*) filter (where satisfaction <= ${BAD}) / nullif(count(satisfaction), 0)::float8 as bad`

const NOTHING: ReportTotals = { feedback: 0, contacts: 0, accounts: 0, rated: 0, satisfaction: null, bad: null }

const readTotals = async (
  sql: Sql,
  { id, period }: ReportRequest,
): Promise<{ now: ReportTotals; before: ReportTotals }> => {
  const rows = await sql<(ReportTotals & { isNow: boolean })[]>`
    select created_at >= ${period.since} as "isNow", count(*)::int as feedback, count(distinct contact_id)::int as contacts,
      count(distinct account_id)::int as accounts, ${figuresOf(sql)}
    from feedback_view
    where not is_hidden and workspace_id = ${id} and created_at >= ${period.before} and created_at < ${period.until}
    group by "isNow"`
  const totalsOf = (wanted: boolean): ReportTotals => rows.find(({ isNow }) => isNow === wanted) ?? NOTHING
  return { now: totalsOf(true), before: totalsOf(false) }
}

const readSteps = (sql: Sql, { id, period: { since, until, unit } }: ReportRequest): Promise<TrendStep[]> =>
  sql<TrendStep[]>`
    with given as (
      select date_trunc(${unit}, created_at) as begin, count(*)::int as feedback, ${figuresOf(sql)}
      from feedback_view
      where not is_hidden and workspace_id = ${id} and created_at >= ${since} and created_at < ${until}
      group by begin
    )
    select begin, coalesce(feedback, 0) as feedback, coalesce(rated, 0) as rated, satisfaction, bad
    from generate_series(
      date_trunc(${unit}, ${since}::timestamptz), ${until}::timestamptz - interval '1 microsecond', ('1 ' || ${unit}::text)::interval
    ) as begin
    left join given using (begin)
    order by begin`.execute()

type Found<Row> = Omit<Row, 'examples' | 'steps'>

/** Groups by account first, so that the contract value of an account counts once. */
const readTopics = (sql: Sql, { id, period: { before, since, until } }: ReportRequest): Promise<Found<Topic>[]> =>
  sql<Found<Topic>[]>`
    with given as materialized (
      select tags, satisfaction, created_at >= ${since} as is_now, account_id, account_contract_value as value
      from feedback_view
      where not is_hidden and workspace_id = ${id} and created_at >= ${before} and created_at < ${until}
    ), of_account as (
      select tag, account_id, count(*) filter (where is_now) as now, count(*) filter (where not is_now) as before,
        count(satisfaction) filter (where is_now) as rated, sum(satisfaction) filter (where is_now) as total,
        count(*) filter (where is_now and satisfaction <= ${BAD}) as bad, max(value) filter (where is_now) as value
      from given cross join unnest(tags) as tag
      group by tag, account_id
    )
    select tag, sum(now)::int as feedback, sum(before)::int as before,
      sum(rated)::int as rated, sum(total) / nullif(sum(rated), 0)::float8 as satisfaction,
      (sum(bad) / nullif(sum(rated), 0))::float8 as bad,
      (count(account_id) filter (where now > 0))::int as accounts, sum(value)::float8 as "contractValue"
    from of_account
    group by tag
    having sum(now) > 0
    order by feedback desc, tag
    limit ${MOST_TOPICS}`.execute()

/**
 * Topics with three feedback or more in the last seven days before `until`, and with at least twice
 * the weekly mean of the preceding eight weeks.
 */
const readNews = (sql: Sql, { id, period: { until } }: ReportRequest): Promise<Found<News>[]> =>
  sql<Found<News>[]>`
    select tag, now as feedback, before / 8.0::float8 as "weeklyBefore", rated, satisfaction, bad
    from (
      select tag, count(*) filter (where is_now)::int as now, count(*) filter (where not is_now)::int as before,
        ${figuresOf(sql)}
      from (
        select tags, is_now, case when is_now then satisfaction end as satisfaction
        from feedback_view cross join lateral (select created_at >= ${until}::timestamptz - interval '7 days') as w (is_now)
        where not is_hidden and workspace_id = ${id} and created_at >= ${until}::timestamptz - interval '63 days' and created_at < ${until}
      ) as given
      cross join unnest(tags) as tag
      group by tag
    ) as counted
    where now >= 3 and now >= 2 * before / 8.0
    order by now / (1 + before / 8.0) desc, tag
    limit ${MOST_NEWS}`.execute()

const readExamples = (
  sql: Sql,
  { id, period: { since, until } }: ReportRequest,
  tags: readonly string[],
): Promise<FeedbackExample[]> =>
  sql<FeedbackExample[]>`
    select tag, description, rating, satisfaction, created_at as at, contact_name as contact, account_name as account
    from unnest(${tags}::text[]) as tag
    cross join lateral (
      select description, rating, satisfaction, created_at, contact_name, account_name
      from feedback_view
      where not is_hidden and workspace_id = ${id} and created_at >= ${since} and created_at < ${until} and tags @> array[tag]
      order by created_at desc, id
      limit ${EXAMPLES}
    ) as latest`.execute()

const readTopicSteps = async (
  sql: Sql,
  { id, period: { since, until, unit } }: ReportRequest,
  topics: readonly { tag: string }[],
): Promise<Map<string, number>> => {
  const tags = topics.map(({ tag }) => tag)
  const rows = await sql<{ tag: string; begin: Date; feedback: number }[]>`
    select tag, date_trunc(${unit}, created_at) as begin, count(*)::int as feedback
    from feedback cross join unnest(tags) as tag
    where not is_hidden and workspace_id = ${id} and created_at >= ${since} and created_at < ${until} and tag = any (${tags}::text[])
    group by tag, begin`
  return new Map(rows.map(({ tag, begin, feedback }) => [`${begin.getTime()} ${tag}`, feedback]))
}

const readAccounts = (sql: Sql, { id, period: { before, since, until } }: ReportRequest): Promise<Account[]> =>
  sql<Account[]>`
    with given as materialized (
      select account_id, account_name as name, account_contract_value as value, satisfaction, tags, created_at >= ${since} as is_now
      from feedback_view
      where not is_hidden and workspace_id = ${id} and created_at >= ${before} and created_at < ${until} and account_id is not null
    ), of_span as (
      select account_id, name, value, is_now, count(*)::int as feedback, ${figuresOf(sql)}
      from given
      group by account_id, name, value, is_now
    ), largest as (
      select * from of_span where is_now order by value desc nulls last, feedback desc, name limit ${MOST_ACCOUNTS}
    )
    select n.name, n.value::float8 as "contractValue", n.feedback, n.rated, n.satisfaction, n.bad,
      json_build_object('rated', coalesce(b.rated, 0), 'satisfaction', b.satisfaction, 'bad', b.bad) as before,
      array(
        select tag from given as own cross join unnest(own.tags) as tag
        where own.account_id = n.account_id and own.is_now
        group by tag order by count(*) desc, tag limit ${TAGS_OF_ACCOUNT}
      ) as tags
    from largest as n left join of_span as b on b.account_id = n.account_id and not b.is_now
    order by n.value desc nulls last, n.feedback desc, n.name`.execute()

const readSources = (sql: Sql, { id, period: { since, until } }: ReportRequest): Promise<SourceRatings[]> =>
  sql<SourceRatings[]>`
    with rated as (
      select source, count(*)::int as ratings, min(rating) as least, max(rating) as most, ${figuresOf(sql)},
        count(satisfaction)::float8 as valid, count(*) filter (where satisfaction is not null and rating >= 4) as from_4,
        count(*) filter (where satisfaction is not null and rating >= 9) as from_9,
        count(*) filter (where satisfaction is not null and rating < 7) as below_7
      from feedback_view
      where not is_hidden and workspace_id = ${id} and created_at >= ${since} and created_at < ${until} and rating is not null
      group by source
      order by ratings desc, source
      limit ${MOST_SOURCES}
    )
    select source, r.ratings, least, most, rated, satisfaction, bad, coalesce(s.is_scale_given, false) as "isScaleGiven",
      case when s.scale_low is not null then json_build_array(s.scale_low, s.scale_high) end as scale,
      case when s.scale_low = 1 and s.scale_high = 5 then from_4 / nullif(valid, 0) end as csat,
      case when s.scale_low = 0 and s.scale_high = 10 then (from_9 - below_7) / nullif(valid, 0) end as nps
    from rated as r left join (select * from source where workspace_id = ${id}) as s using (source)
    order by r.ratings desc, source`.execute()

const readProjects = (sql: Sql, { id, period: { since, until } }: ReportRequest): Promise<Project[]> =>
  sql<Project[]>`
    select project_name as project, count(*)::int as feedback, ${figuresOf(sql)}
    from feedback_view
    where not is_hidden and workspace_id = ${id} and created_at >= ${since} and created_at < ${until} and project_name is not null
    group by project_id, project_name
    order by feedback desc, project
    limit ${MOST_PROJECTS}`.execute()
