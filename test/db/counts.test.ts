import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { countFeedback, type CountRequest, type Group, ORDERS } from '../../db/reads/counts.ts'
import { type Dimensions, DIMENSION_NAMES, type FixedDimension } from '../../db/reads/dimensions.ts'
import { seeded } from '../support/property-seed.ts'
import { makeWorkspaces, sharedSchema } from '../support/schema.ts'

const { sql } = await sharedSchema()
const workspaceId = randomUUID()
const FEEDBACK = 400
const BAD = 0.4

/** The same keys, from the view. */
const KEYS: Readonly<Record<FixedDimension, string>> = {
  tag: 't.tag',
  source: 'v.source',
  project: 'v.project_id::text',
  account: 'v.account_id::text',
  customer: 'v.contact_id::text',
  week: `to_char(date_trunc('week', v.created_at at time zone 'utc'), 'YYYY-MM-DD')`,
  month: `to_char(v.created_at at time zone 'utc', 'YYYY-MM')`,
  rating: 'v.rating::text',
  theme: 'v.theme_id::text',
  kind: 'v.kind',
}

describe('counts of feedback', () => {
  before(async () => {
    await makeWorkspaces(sql, [workspaceId])
    await sql`
      insert into source (workspace_id, source, ratings, least_rating, most_rating) values
        (${workspaceId}, 'NPS', 20, 0, 10), (${workspaceId}, 'Stars', 20, 1, 5), (${workspaceId}, 'Percent', 20, 0, 100)`
    await sql`
      insert into account (workspace_id, id, first_number, number, change_position)
      select ${workspaceId}, md5('a' || n)::uuid, 1, 1, 1 from generate_series(0, 3) as n`
    await sql`
      insert into contact (workspace_id, id, name, account_id, first_number, number, change_position)
      select ${workspaceId}, md5('c' || n)::uuid, 'name ' || n, md5('a' || n % 4)::uuid, n, n, n from generate_series(1, 9) as n`
    await sql`
      insert into feedback (workspace_id, id, description, tags, tags_generated, source, rating, contact_id, account_id,
        source_created_at, first_number, number, change_position)
      select ${workspaceId}, md5('f' || n)::uuid, 'x', (array[null, '{}', '{a}', '{a,b}', '{b,c}'])[1 + n % 5]::text[], true,
        (array['NPS', 'Stars', 'Percent'])[1 + n % 3], case when n % 4 > 0 then n % 6 end,
        case when n % 7 > 0 then md5('c' || 1 + n % 9)::uuid end, case when n % 11 = 0 then md5('a0')::uuid end,
        timestamptz '2026-01-01Z' + n * n * interval '1 hour', n, n, n
      from generate_series(1, ${FEEDBACK}) as n`
  })

  const expected = async (by: Dimensions): Promise<Map<string, Omit<Group, 'keys'>>> => {
    const rows = await sql.unsafe<({ keys: string } & Omit<Group, 'keys'>)[]>(
      `select jsonb_build_array(${by.map((name) => KEYS[name as FixedDimension]).join()})::text as keys, count(*)::float8 as feedback,
        count(satisfaction)::float8 as rated, round(avg(satisfaction)::numeric, 4)::float8 as satisfaction,
        round((count(*) filter (where satisfaction <= ${BAD}))::numeric / nullif(count(satisfaction), 0), 4)::float8 as bad
      from feedback_view as v ${by.includes('tag') ? "cross join unnest(coalesce(nullif(v.tags, '{}'), array[null])) as t (tag)" : ''}
      where v.workspace_id = $1 group by 1`,
      [workspaceId],
    )
    return new Map(rows.map(({ keys, ...figures }) => [JSON.stringify(JSON.parse(keys)), figures]))
  }

  const pages = async (request: CountRequest): Promise<Group[]> => {
    const found: Group[] = []
    let after: CountRequest['after']
    do {
      const { top, next } = await countFeedback(sql, { ...request, after })
      assert.ok(top.length <= request.limit)
      found.push(...top)
      after = next
    } while (after !== undefined)
    return found
  }

  it('are those of feedback_view, by one or two dimensions, in any order, on pages of any size', async () => {
    const dimensions = fc.uniqueArray(fc.constantFrom(...DIMENSION_NAMES), { minLength: 1, maxLength: 2 })
    await fc.assert(
      fc.asyncProperty(
        dimensions,
        fc.constantFrom(undefined, ...ORDERS),
        fc.integer({ min: 1, max: 60 }),
        async (names, order, limit) => {
          const by = names as unknown as Dimensions
          const groups = await pages({ workspaceId, by, order, filters: {}, limit })
          const wanted = await expected(by)
          // A single time has groups without feedback as well.
          const counted = groups.filter(({ feedback }) => feedback > 0)
          assert.equal(counted.length, wanted.size)
          for (const { keys, ...figures } of counted)
            assert.deepEqual(figures, wanted.get(JSON.stringify(keys.map(({ key }) => key))), JSON.stringify(keys))
          const ranks = groups.map(({ feedback, satisfaction, bad }) => {
            if (order === 'satisfaction') return satisfaction ?? 2
            return order === 'bad' ? -(bad ?? -1) : -feedback
          })
          if (order !== undefined && order !== 'key')
            assert.deepEqual(
              ranks,
              ranks.toSorted((one, other) => one - other),
            )
        },
      ),
      seeded({ numRuns: 40 }),
    )
  })

  it('take the mean of satisfaction, not of ratings on different scales', async () => {
    const { total, top } = await countFeedback(sql, {
      workspaceId,
      by: ['source'],
      order: 'key',
      filters: {},
      limit: 9,
    })
    const [row] = await sql<{ satisfaction: number; rated: number }[]>`
      select round(avg(satisfaction)::numeric, 4)::float8 as satisfaction, count(satisfaction)::float8 as rated
      from feedback_view where workspace_id = ${workspaceId}`
    assert.deepEqual({ satisfaction: total.satisfaction, rated: total.rated }, row)
    const percent = top.find(({ keys }) => keys[0]?.key === 'Percent')
    assert.deepEqual([percent?.rated, percent?.satisfaction], [0, null], 'no scale is known')
  })

  it('name a customer', async () => {
    const { top } = await countFeedback(sql, { workspaceId, by: ['customer'], filters: {}, limit: 20 })
    assert.ok(top.every(({ keys: [customer] }) => (customer?.key === null) === (customer?.name === null)))
  })
})

describe('a count by week', () => {
  it('has every week from the first to the last with feedback, and 0 for a week without', async () => {
    const own = randomUUID()
    await makeWorkspaces(sql, [own])
    await sql`
      insert into feedback (workspace_id, id, description, tags_generated, source, source_created_at, first_number, number,
        change_position)
      select ${own}, md5('week' || at)::uuid, 'x', true, 'API', at, 1, 1, 1
      from unnest(array['2026-01-05Z', '2026-01-11T23:59:59Z', '2026-02-01Z']::timestamptz[]) as at`
    const { top, total, groups } = await countFeedback(sql, { workspaceId: own, by: ['week'], filters: {}, limit: 3 })
    assert.deepEqual([total, groups], [{ feedback: 3, rated: 0, satisfaction: null, bad: null }, 4])
    assert.deepEqual(
      top.map(({ keys, feedback }) => [keys[0]?.key, feedback]),
      [
        ['2026-01-26', 1],
        ['2026-01-19', 0],
        ['2026-01-12', 0],
      ],
    )
    const none = await countFeedback(sql, { workspaceId: own, by: ['week'], filters: { source: 'none' }, limit: 3 })
    assert.deepEqual([none.total.feedback, none.groups, none.top], [0, 0, []])
  })
})
