import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import type { JsonValue } from '../../contract/json.ts'
import type { DeclaredField } from '../../contract/source-settings.ts'
import { countFeedback } from '../../db/reads/counts.ts'
import type { Dimensions } from '../../db/reads/dimensions.ts'
import { compareSpans } from '../../db/reads/comparison.ts'
import type { FeedbackFilters } from '../../db/reads/filters.ts'
import { readList } from '../../db/reads/lists.ts'
import { listFields, listSources, setSource } from '../../db/sources.ts'
import { seeded } from '../support/property-seed.ts'
import { makeWorkspaces, sharedSchema } from '../support/schema.ts'

const { sql } = await sharedSchema()

const SOURCES = ['A', "B's", 'C']
const NAMES = ['plan', 'role_2', 'Page-x']
const PATHS = ['plan', 'a.b', "o'k", '$1', 'a', '%s.x']
const of = fc.constantFrom('feedback' as const, 'contact' as const, 'account' as const)
const scalar = fc.constantFrom('trial', 'paid', '3', 3, 0.5, true, '', null)
const value = fc.oneof(
  { weight: 4, arbitrary: scalar },
  fc.constantFrom<JsonValue[]>({}, [], ['trial'], { b: 'deep' }, { b: 3 }, { b: { c: 1 } }),
)
const record = fc.dictionary(fc.constantFrom(...PATHS), value, { maxKeys: 4 })
const declarations: fc.Arbitrary<DeclaredField[]> = fc.uniqueArray(
  fc.record({ name: fc.constantFrom(...NAMES), path: fc.constantFrom(...PATHS), of }),
  { selector: ({ name }) => name },
)
const drawn = fc.record({
  declared: fc.tuple(declarations, declarations, declarations),
  accounts: fc.array(record, { minLength: 2, maxLength: 2 }),
  contacts: fc.array(fc.tuple(record, fc.nat(2)), { minLength: 3, maxLength: 3 }),
  feedback: fc.array(fc.tuple(fc.nat(2), fc.option(record), fc.nat(3), fc.nat(2)), { maxLength: 12 }),
})
type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never

const idOf = (kind: string, at: number): string => `0000000${kind}-0000-4000-8000-${String(at).padStart(12, '0')}`

/** Stores what was drawn. The last choice of a contact or account means none. */
const store = async ({ declared, accounts, contacts, feedback }: Drawn): Promise<string> => {
  const workspaceId = randomUUID()
  await makeWorkspaces(sql, [workspaceId])
  for (const [at, fields] of declared.entries()) await setSource(sql, { workspaceId, source: SOURCES[at]! }, { fields })
  const numbers = { workspace_id: workspaceId, first_number: 1, number: 1, change_position: 1 }
  const account_id = (at: number) => (at < 2 ? idOf('a', at) : null)
  await sql`insert into account ${sql(
    accounts.map((properties, at) => ({ ...numbers, id: idOf('a', at), properties: sql.json(properties) })) as never,
  )}`
  await sql`insert into contact ${sql(
    contacts.map(([properties, account], at) => ({
      ...numbers,
      id: idOf('c', at),
      properties: sql.json(properties),
      account_id: account_id(account),
    })) as never,
  )}`
  for (const [at, [source, data, contact, account]] of feedback.entries())
    await sql`insert into feedback ${sql({
      ...numbers,
      id: idOf('f', at),
      description: 'x',
      tags: ['t', String(at % 2)],
      tags_generated: false,
      source: SOURCES[source]!,
      source_data: data && sql.json(data),
      contact_id: contact < 3 ? idOf('c', contact) : null,
      account_id: account_id(account),
      first_number: at + 1,
    } as never)}`
  return workspaceId
}

type Row = { id: string; source: string; fields: Record<string, unknown> | null }
const rowsOf = (workspaceId: string): Promise<Row[]> =>
  sql<Row[]>`select id, source, fields from feedback_view where workspace_id = ${workspaceId} order by id`

const textOf = (row: Row, name: string): string | null => {
  const found = row.fields?.[name]
  if (found === undefined) return null
  return typeof found === 'string' ? found : JSON.stringify(found)
}

const byKey = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number => (one < other ? -1 : 1)

/** How many rows each key has. */
const tally = (keys: readonly (readonly (string | null)[])[]): [string, number][] => {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(JSON.stringify(key), (counts.get(JSON.stringify(key)) ?? 0) + 1)
  return [...counts].toSorted(byKey)
}

describe('declared fields', () => {
  it('are counted, filtered and compared as feedback_view has them', async () => {
    await fc.assert(
      fc.asyncProperty(drawn, fc.constantFrom(...NAMES), fc.constantFrom(...NAMES), async (given, one, other) => {
        const workspaceId = await store(given)
        const declared = await listFields(sql, workspaceId)
        const rows = await rowsOf(workspaceId)
        const count = async (by: Dimensions, filters: FeedbackFilters = {}) => {
          const { top, total } = await countFeedback(sql, { workspaceId, by, filters, declared, limit: 500 })
          const groups = top.map(({ keys, feedback }): [string, number] => [
            JSON.stringify(keys.map(({ key }) => key)),
            feedback,
          ])
          return { total: total.feedback, groups: groups.toSorted(byKey) }
        }
        const expected = (keys: (row: Row) => (string | null)[]) => ({
          total: rows.length,
          groups: tally(rows.map(keys)),
        })
        assert.deepEqual(
          await count([`field.${one}`]),
          expected((row) => [textOf(row, one)]),
        )
        assert.deepEqual(
          await count(['source', `field.${one}`]),
          expected((row) => [row.source, textOf(row, one)]),
        )
        const wanted = rows.find((row) => textOf(row, one) !== null) ?? rows[0]
        const fields: Record<string, string> = { [one]: (wanted && textOf(wanted, one)) ?? 'trial' }
        if (other !== one && wanted && textOf(wanted, other) !== null) fields[other] = textOf(wanted, other)!
        const matches = rows.filter((row) => Object.entries(fields).every(([name, text]) => textOf(row, name) === text))
        assert.deepEqual(await count(['source', 'tag'], { fields }), {
          total: matches.length,
          groups: tally(
            matches.flatMap((row) => ['t', String(Number(row.id.at(-1)) % 2)].map((tag) => [row.source, tag])),
          ),
        })
        for (const filters of [{ fields }, { fields, accountId: idOf('a', 0) }, { fields, customerId: idOf('c', 0) }]) {
          const { records } = await readList(sql, {
            workspaceId,
            kind: 'feedback',
            filters,
            declared,
            after: undefined,
            isOldestFirst: false,
            limit: 100,
          })
          const ids = records.map((text) => (JSON.parse(text) as { id: string }).id)
          const { total } = await count(['source'], filters)
          assert.equal(ids.length, total)
          if (Object.keys(filters).length === 1)
            assert.deepEqual(ids.toSorted(), matches.map(({ id }) => id).toSorted())
        }
        const request = { workspaceId, by: `field.${one}`, filters: {}, declared, limit: 100 } as const
        const spans = {
          before: { from: '1800-01-01Z', to: '1900-01-01Z' },
          after: { from: '1900-01-01Z', to: '2999-01-01Z' },
        }
        const { after, grows } = await compareSpans(sql, { ...request, ...spans, order: 'feedback' })
        assert.equal(after.feedback, rows.length)
        assert.deepEqual(
          grows
            .map(({ key, after: figures }): [string, number] => [JSON.stringify([key]), figures.feedback])
            .toSorted(byKey),
          tally(rows.map((row) => [textOf(row, one)])),
        )
      }),
      seeded({ numRuns: 60 }),
    )
  })

  it('of contacts and accounts have values in every source; the declaration of the source itself counts first', async () => {
    const workspaceId = await store({
      declared: [
        [{ name: 'plan', path: 'plan', of: 'account' }],
        [{ name: 'plan', path: 'a.b', of: 'feedback' }],
        [{ name: 'page', path: 'page', of: 'feedback' }],
      ],
      accounts: [{ plan: 'paid' }, { plan: ['paid'] }],
      contacts: [
        [{}, 0],
        [{}, 1],
        [{}, 2],
      ],
      feedback: [
        [0, { page: '/a' }, 0, 2],
        [1, { a: { b: 7 }, page: '/b' }, 0, 2],
        [2, { page: '/c' }, 0, 2],
        [2, { page: null }, 1, 2],
        [1, { 'a.b': false }, 3, 0],
      ],
    })
    assert.deepEqual(
      (await rowsOf(workspaceId)).map(({ fields }) => fields),
      [{ plan: 'paid' }, { plan: 7 }, { plan: 'paid', page: '/c' }, null, { plan: false }],
    )
  })

  it('have at most 20 names in a workspace, however many sources declare them', async () => {
    const workspaceId = randomUUID()
    await makeWorkspaces(sql, [workspaceId])
    const fields = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, at) => ({ name: `f${from + at}`, path: 'x', of: 'feedback' as const }))
    const set = async (source: string, from: number, to: number) =>
      (await setSource(sql, { workspaceId, source }, { fields: fields(from, to) })) === 'too-many-fields'
    assert.deepEqual(
      [await set('A', 0, 20), await set('B', 0, 20), await set('C', 20, 21), await set('A', 20, 21)],
      [false, false, true, true],
    )
    assert.deepEqual(
      (await listSources(sql, workspaceId)).map(({ source, fields: { length } }) => [source, length]),
      [
        ['A', 20],
        ['B', 20],
      ],
    )
    assert.deepEqual([await set('B', 0, 19), await set('A', 0, 19), await set('C', 20, 21)], [false, false, false])
    assert.equal(await setSource(sql, { workspaceId: randomUUID(), source: 'A' }, {}), undefined)
  })
})
