import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, describe, it } from 'node:test'
import * as fc from 'fast-check'
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
})
