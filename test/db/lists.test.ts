import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { countFeedback } from '../../db/reads/insights.ts'
import { type FeedbackFilters, type ListRequest, readList } from '../../db/reads/lists.ts'
import { seeded } from '../support/property-seed.ts'
import { makeWorkspaces, sharedSchema } from '../support/schema.ts'

const { sql } = await sharedSchema()
const workspaceId = randomUUID()
const ACCOUNTS = ['a1b2c3d4-0000-8000-8000-000000000001', 'a1b2c3d4-0000-8000-8000-000000000002']
const CUSTOMERS = 12
const FEEDBACK = 300

describe('a list whose statements look at few records', () => {
  before(async () => {
    await makeWorkspaces(sql, [workspaceId])
    await sql`
      insert into contact (workspace_id, id, account_id, first_number, number, change_position)
      select ${workspaceId}, md5('c' || n)::uuid, (${ACCOUNTS}::uuid[])[1 + n % 3], n, n, n
      from generate_series(1, ${CUSTOMERS}) as n`
    // Several feedback have the same time, some have no customer, and some have an account.
    await sql`
      insert into feedback (workspace_id, id, description, tags, tags_generated, source, contact_id, account_id,
        first_number, number, change_position)
      select ${workspaceId}, md5('f' || n)::uuid, 'x', array['t' || n % 4], true, 'API',
        case when n % 7 > 0 then md5('c' || 1 + (n * n) % ${CUSTOMERS})::uuid end, (${ACCOUNTS}::uuid[])[1 + n % 5],
        n / 3, n / 3, n
      from generate_series(1, ${FEEDBACK}) as n`
  })

  const walkAll = (filters: FeedbackFilters, limit = 10, mostLooked = 400): Promise<string[]> =>
    walk({ workspaceId, kind: 'feedback', filters, isOldestFirst: false, limit }, mostLooked)

  const walk = async (request: Omit<ListRequest, 'after'>, mostLooked: number): Promise<string[]> => {
    const found: string[] = []
    let place: ListRequest['after']
    do {
      const { records, next } = await readList(sql, { ...request, after: place }, mostLooked)
      assert.ok(records.length <= request.limit)
      found.push(...records.map((record) => (JSON.parse(record) as { id: string }).id))
      place = next
    } while (place !== undefined)
    return found
  }

  it('has each record once and in order, also for an account and its customers', async () => {
    const filters = fc.record(
      {
        accountId: fc.constantFrom(...ACCOUNTS, randomUUID()),
        tag: fc.constantFrom(['t0'], ['t3']),
        createdTo: fc.constant('2100-01-01T00:00:00Z'),
      },
      { requiredKeys: [] },
    )
    const bounds = fc.record({ limit: fc.integer({ min: 1, max: 40 }), mostLooked: fc.integer({ min: 1, max: 400 }) })
    await fc.assert(
      fc.asyncProperty(filters, bounds, fc.boolean(), async (given, { limit, mostLooked }, isOldestFirst) => {
        const { accountId = null, tag = [] } = given
        const rows = await sql<{ id: string }[]>`
          select f.id from feedback as f left join contact as c on c.workspace_id = f.workspace_id and c.id = f.contact_id
          where f.workspace_id = ${workspaceId} and f.tags @> ${tag} and (${accountId}::uuid is null or coalesce(f.account_id, c.account_id) = ${accountId}::uuid)
          order by f.created_at desc, f.id desc`
        const expected = rows.map(({ id }) => id)
        const found = await walk({ workspaceId, kind: 'feedback', filters: given, isOldestFirst, limit }, mostLooked)
        assert.deepEqual(found, isOldestFirst ? expected.toReversed() : expected)
      }),
      seeded({ numRuns: 30 }),
    )
  })

  it('has the feedback of an absorbed contact or account also while it moves to the absorber', async () => {
    const [old, absorber, oldAccount, account] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
    await sql`
      insert into contact (workspace_id, id, account_id, first_number, number, change_position)
      values (${workspaceId}, ${absorber}, ${account}, 1, 1, 1)`
    await sql`
      insert into account (workspace_id, id, first_number, number, change_position) values (${workspaceId}, ${account}, 1, 1, 1)`
    // A third has moved already.
    await sql`
      insert into feedback (workspace_id, id, description, tags_generated, source, contact_id, account_id, first_number, number,
        change_position)
      select ${workspaceId}, md5('moving' || n)::uuid, 'moving', true, 'Moving',
        case when n % 3 = 0 then ${absorber}::uuid else ${old}::uuid end,
        case n % 4 when 0 then ${account}::uuid when 1 then ${oldAccount}::uuid end, n, n, n
      from generate_series(1, 60) as n`
    await sql`
      insert into contact_alias (workspace_id, id, contact_id) values (${workspaceId}, ${old}, ${absorber})`
    await sql`
      insert into account_alias (workspace_id, id, account_id) values (${workspaceId}, ${oldAccount}, ${account})`
    await sql`
      insert into pending_move (workspace_id, kind, old_id, new_id)
      values (${workspaceId}, 'c', ${old}, ${absorber}), (${workspaceId}, 'a', ${oldAccount}, ${account})`
    const rows = await sql<{ id: string }[]>`
      select id from feedback where workspace_id = ${workspaceId} and source = 'Moving' order by created_at desc, id desc`
    const all = rows.map(({ id }) => id)
    assert.equal(all.length, 60)
    for (const filters of [
      { customerId: old },
      { customerId: absorber },
      { accountId: oldAccount },
      { accountId: account },
      { customerId: old, accountId: account },
      { customerId: absorber, source: 'Moving' },
    ]) {
      for (const mostLooked of [5, 400]) assert.deepEqual(await walkAll(filters, 10, mostLooked), all)
      const { feedback } = await countFeedback(sql, { workspaceId, by: 'source', filters, limit: 10 })
      assert.equal(feedback, 60)
    }
  })
})

describe('a count by week', () => {
  it('has every week from the first to the last with feedback, and 0 for a week without', async () => {
    const own = randomUUID()
    await makeWorkspaces(sql, [own])
    await sql`
      insert into feedback (workspace_id, id, description, tags_generated, source, rating, source_created_at, first_number, number,
        change_position)
      select ${own}, md5('week' || at)::uuid, 'x', true, 'API', 4, at, 1, 1, 1
      from unnest(array['2026-01-05Z', '2026-01-11T23:59:59Z', '2026-02-01Z']::timestamptz[]) as at`
    const counts = await countFeedback(sql, { workspaceId: own, by: 'week', filters: {}, limit: 3 })
    const { top, ...all } = counts
    assert.deepEqual(all, { feedback: 3, rated: 3, averageRating: 4, groups: 4 })
    assert.deepEqual(
      top.map(({ key, feedback, rated, averageRating }) => [key, feedback, rated, averageRating]),
      [
        ['2026-01-26', 1, 1, 4],
        ['2026-01-19', 0, 0, null],
        ['2026-01-12', 0, 0, null],
      ],
    )
    const none = await countFeedback(sql, { workspaceId: own, by: 'week', filters: { source: 'none' }, limit: 3 })
    assert.deepEqual(none, { feedback: 0, rated: 0, averageRating: null, groups: 0, top: [] })
  })
})

describe('the form in which a search compares texts', () => {
  it('is that of NFKC without format characters for any text', async () => {
    const blocks = [
      [0x20, 0x24f],
      [0x300, 0x3ff],
      [0x400, 0x6ff],
      [0x1100, 0x11ff],
      [0x2000, 0x2bff],
      [0x3000, 0x30ff],
    ]
    const places = [
      ...blocks,
      [0xac00, 0xad00],
      [0xf900, 0xffef],
      [0x1d400, 0x1d7ff],
      [0x1f100, 0x1f6ff],
      [0xe0000, 0xe007f],
    ]
    const letters = fc
      .oneof(...places.map(([min, max]) => fc.integer({ min: min!, max: max! })))
      .map((at) => String.fromCodePoint(at))
    const texts = fc.array(fc.array(letters, { maxLength: 6 }), { minLength: 300, maxLength: 300 })
    await fc.assert(
      fc.asyncProperty(texts, async (given) => {
        const written = given.map((text) => text.join('').replaceAll(/\p{Cs}/gu, ''))
        const normalized = written.map((text) => text.replaceAll(/\p{Cf}/gu, '').normalize('NFKC'))
        const rows = await sql<{ form: string; expected: string }[]>`
          select search_form(w.text) as form, replace(lower(n.text), 'ς', 'σ') as expected
          from unnest(${written}::text[]) with ordinality as w (text, place)
          join unnest(${normalized}::text[]) with ordinality as n (text, place) using (place)`
        for (const { form, expected } of rows) assert.equal(form, expected)
      }),
      seeded({ numRuns: 20 }),
    )
  })
})
