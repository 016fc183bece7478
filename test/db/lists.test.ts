import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { countFeedback } from '../../db/reads/counts.ts'
import type { FeedbackFilters } from '../../db/reads/filters.ts'
import { type ListRequest, readList } from '../../db/reads/lists.ts'
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
      const { total } = await countFeedback(sql, { workspaceId, by: ['source'], filters, limit: 10 })
      assert.equal(total.feedback, 60)
    }
  })
})
