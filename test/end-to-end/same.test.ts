import assert from 'node:assert/strict'
import process from 'node:process'
import { after, describe, it } from 'node:test'
import { readLedger } from '../support/ledgers.ts'
import { sharedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const service = await sharedService()
after(() => service.stop())

const LONG = process.env['TEST_SIZE'] === 'long'
const ROUNDS = LONG ? 100_000 : 40
const MORE_ROWS_AT_MOST = 10
/** This table keeps the receipt of each submission for some time. */
const PER_SUBMISSION = ['submission']

const ANN = { id: 'ann', source: 'crm', properties: { $email: 'ann@example.org', $name: 'Ann', plan: 'gold' } }
const BOB = { id: 'bob', properties: { $email: 'pair@example.org', $name: 'Bob' } }
const CAT = { id: 'cat', source: 'crm', properties: { $email: 'pair@example.org', $name: 'Cat' } }
const ACME = { id: 'acme', properties: { $name: 'Acme', $domain: 'acme.example', seats: 5 } }

const BODIES: readonly (readonly [path: string, body: object])[] = [
  // Like a product that identifies its user at each login.
  ['/contacts/identify', { ...ANN, account: ACME }],
  ['/accounts/identify', ACME],
  [
    '/feedbacks',
    {
      description: 'The export is slow',
      source: 'tickets',
      sourceId: 'T-1',
      isExternalContactId: true,
      contactId: 'stranger',
      contact: { email: 'someone@example.org', name: 'Someone', sourceData: { seen: 1 } },
      account: { name: 'Initech', domain: 'initech.example', contractValue: 5 },
      project: { name: 'Exports' },
    },
  ],
  [
    '/conversations',
    {
      id: 'C-1',
      source: 'chat',
      createdAt: '2026-01-31T09:30:00Z',
      contacts: [BOB, CAT],
      messages: [
        {
          id: 'm1',
          incoming: true,
          contactId: 'cat',
          content: 'The export is slow',
          createdAt: '2026-01-31T09:30:00Z',
        },
        { id: 'm2', incoming: true, contactId: 'later', content: 'It hangs', createdAt: '2026-01-31T09:31:00Z' },
      ],
    },
  ],
]

describe('the same submission, repeated,', () => {
  const untilDrained = async (): Promise<void> => {
    await until('all records are stored', async () => (await readLedger(service)).queued === 0)
    await until('all records have their tags', async () => {
      const [untagged] = await service.sql<{ count: number }[]>`
        select (select count(*) from feedback where tags is null)::int
          + (select count(*) from conversation where tags is null)::int as count`
      return untagged!.count === 0
    })
  }

  const countRows = async (): Promise<Map<string, number>> => {
    const tables = await service.sql<{ name: string }[]>`
      select table_name as name from information_schema.tables
      where table_schema = current_schema()`
    const counts = new Map<string, number>()
    for (const { name } of tables.filter((table) => !PER_SUBMISSION.includes(table.name))) {
      const [rows] = await service.sql<{ count: number }[]>`select count(*)::int as count from ${service.sql(name)}`
      counts.set(name, rows!.count)
    }
    return counts
  }

  it(`adds at most ten rows besides receipts in ${ROUNDS} rounds of four operations`, async () => {
    const submit = async (rounds: number): Promise<Map<string, number>> => {
      for (let round = 0; round < rounds; round++) {
        const answers = await Promise.all(BODIES.map(([path, body]) => service.post(path, body)))
        assert.ok(answers.every(({ status }) => status < 300))
      }
      await untilDrained()
      return countRows()
    }
    const former = await submit(2)
    const counted = await submit(ROUNDS)
    const more = [...counted].map(([table, count]) => [table, count - former.get(table)!] as const)
    const sum = more.reduce((total, [, count]) => total + Math.max(0, count), 0)
    assert.ok(sum <= MORE_ROWS_AT_MOST, JSON.stringify(more.filter(([, count]) => count > 0)))
  })
})
