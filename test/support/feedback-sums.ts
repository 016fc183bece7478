import assert from 'node:assert/strict'
import type { Sql } from '../../db/connection/postgres.ts'
import { countFeedback } from '../../db/reads/counts.ts'
import type { Dimensions } from '../../db/reads/dimensions.ts'
import { readSpans } from '../../db/reads/spans.ts'

const NONE = `'00000000-0000-0000-0000-000000000000'::uuid`
const WEEK_OF_MONTH = `greatest(date_trunc('week', f.at), date_trunc('month', f.at))::date`

/** Lets `sum_step` take few feedback at once, and feedback of this moment. */
export const sumSoon = async (sql: Sql): Promise<void> => {
  await sql`create or replace function summed_at_once() returns integer language sql immutable as 'select 3'`
  await sql`create or replace function sum_delay() returns bigint language sql immutable as 'select 0'`
}

/** Takes this many steps, or as many as there are. */
export const sumUp = async (sql: Sql, workspaceId: string, steps = Number.POSITIVE_INFINITY): Promise<void> => {
  for (let step = 0; step < steps; step++) {
    const [row] = await sql<[{ hasMore: boolean }]>`select sum_step(${workspaceId}::uuid) as "hasMore"`
    if (!row.hasMore) return
  }
}

/** Asserts that the sums are those of the feedback up to the summed position, and no others. */
export const assertSums = async (sql: Sql, workspaceId: string): Promise<void> => {
  const stored = await sql<{ cell: string }[]>`
    select to_jsonb(s) - 'workspace_id' as cell from feedback_sum as s where s.workspace_id = ${workspaceId}
      and exists (select from workspace_progress where workspace_id = ${workspaceId} and summed_position is not null)`
  const direct = await sql.unsafe<{ cell: string }[]>(
    `with f as (
      select r.*, r.created_at at time zone 'utc' as at, case when r.rating between s.summed_low and s.summed_high
        then (r.rating - s.summed_low) / (s.summed_high - s.summed_low) end::numeric as satisfaction
      from feedback as r left join source as s using (workspace_id, source)
      where r.workspace_id = $1 and not r.is_hidden
        and r.change_position <= (select summed_position from workspace_progress where workspace_id = $1)
    ),
    t as (select f.*, u.tag from f cross join unnest(coalesce(nullif(f.tags, '{}'), array[null])) as u (tag)),
    c as (
      select 'time' as dimension, ${NONE} as key, null as tag, at::date as period, source, coalesce(rating, 'NaN') as rating,
        satisfaction from f
      union all select 'project', coalesce(project_id, ${NONE}), null, '-infinity', source, 'NaN', satisfaction from f
      union all select 'project and day', coalesce(project_id, ${NONE}), null, at::date, '', 'NaN', satisfaction from f
      union all select 'theme', coalesce(theme_id, ${NONE}), null, '-infinity', source, 'NaN', satisfaction from f
      union all select 'theme and day', coalesce(theme_id, ${NONE}), null, at::date, '', 'NaN', satisfaction from f
      union all select 'kind', coalesce(category_id($1, kind), ${NONE}), kind, '-infinity', source, 'NaN', satisfaction from f
      union all select 'kind and day', coalesce(category_id($1, kind), ${NONE}), kind, at::date, '', 'NaN', satisfaction from f
      union all select 'account', account_id, null, '-infinity', source, 'NaN', satisfaction from f where account_id is not null
      union all select 'customer', coalesce(contact_id, ${NONE}), null, '-infinity', source, 'NaN', satisfaction from f
        where account_id is null
      union all select 'customer of account', coalesce(contact_id, ${NONE}), null, '-infinity', source, 'NaN', satisfaction from f
        where account_id is not null
      union all select 'tag', coalesce(category_id($1, tag), ${NONE}), tag, '-infinity', source, 'NaN', satisfaction from t
      union all select 'tag and week', coalesce(category_id($1, tag), ${NONE}), tag, ${WEEK_OF_MONTH.replaceAll('f.at', 't.at')}, '',
        'NaN', satisfaction from t
    )
    select to_jsonb(x) as cell from (
      select dimension, key, tag, period, source, rating, count(*) as feedback, count(satisfaction) as rated,
        count(*) filter (where satisfaction <= 0.4) as bad, coalesce(sum(satisfaction), 0) as satisfaction
      from c group by dimension, key, tag, period, source, rating
    ) as x`,
    [workspaceId],
  )
  const texts = (rows: readonly { cell: string }[]): string[] => rows.map(({ cell }) => canonical(cell)).toSorted()
  assert.deepEqual(texts(stored), texts(direct))
}

const canonical = (cell: unknown): string =>
  JSON.stringify(Object.entries(cell as object).toSorted(([one], [other]) => (one < other ? -1 : 1)))

const SINGLE = ['tag', 'theme', 'kind', 'source', 'project', 'account', 'customer', 'week', 'month', 'rating'] as const
const COUNTED: readonly Dimensions[] = [
  ...SINGLE.map((name) => [name] as const),
  ...SINGLE.flatMap((name) => (['source', 'week', 'month'] as const).map((other) => [name, other] as const)),
  ['week', 'tag'],
  ['source', 'account'],
].filter(([one, other]) => one !== other) as Dimensions[]

/** Asserts that counts with the sums are those of the records. */
export const assertCounts = async (sql: Sql, workspaceId: string): Promise<void> => {
  for (const by of COUNTED) {
    const request = { workspaceId, by, order: 'key', limit: 500 } as const
    const ofSums = await countFeedback(sql, { ...request, filters: {} })
    // With a filter, a count reads the records.
    const ofRecords = await countFeedback(sql, { ...request, filters: { createdFrom: '0001-01-01T00:00:00Z' } })
    assert.deepEqual(ofSums, ofRecords, by.join())
  }
}

const DIVIDE = '2026-02-01T00:00:00.000Z'

/** Asserts that spans with the sums are those of the records. */
export const assertSpans = async (sql: Sql, workspaceId: string): Promise<void> => {
  const by = ['theme', 'account', 'source', 'kind', 'project'] as const
  const asked = { workspaceId, by, filters: {}, orders: ['feedback', 'bad'], limit: 500, countsPeople: true } as const
  const from = async (start: string) => {
    const spans = { before: { from: start, to: DIVIDE }, after: { from: DIVIDE, to: '9000-01-01T00:00:00.000Z' } }
    const read = await readSpans(sql, { ...asked, ...spans, unit: 'week' })
    return { ...read, of: read.of.map(({ groups }) => groups.map((group) => canonical(group)).toSorted()) }
  }
  // With a span of days and a part of a day, a read groups the records.
  assert.deepEqual(await from('0001-01-02T00:00:00.000Z'), await from('0001-01-01T23:59:59.999Z'))
}
