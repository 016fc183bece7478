import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { JsonObject } from '../../contract/json.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'

const CREATED_AT = '2026-01-01T00:00:00Z'

/** What dotted keys become; `contract/unflatten.ts` has the whole rule. */
const CASES: Readonly<Record<string, readonly [given: JsonObject, unflattened: JsonObject]>> = {
  'a dotted key nests its value': [{ 'a.b': 1 }, { a: { b: 1 } }],
  'several levels nest, and meet': [
    { 'a.b.c': 1, 'a.b.d': 2, e: 3 },
    { a: { b: { c: 1, d: 2 } }, e: 3 },
  ],
  'nested objects and dotted keys merge': [{ a: { b: 1 }, 'a.c': 2 }, { a: { b: 1, c: 2 } }],
  'digits are keys of objects': [{ 'a.0': 'x', 'a.1': 'y' }, { a: { 0: 'x', 1: 'y' } }],
  'what has no place stays dotted': [
    { a: 5, 'a.b': 1, 'c..d': 2, '.e': 3, 'f.': 4 },
    { a: 5, 'a.b': 1, 'c..d': 2, '.e': 3, 'f.': 4 },
  ],
  'prototypes are never split at': [
    { 'constructor.a': 1, 'b.prototype': 2 },
    { 'constructor.a': 1, 'b.prototype': 2 },
  ],
  'keys within nested objects stay as they are': [{ a: { 'b.c': 1 } }, { a: { 'b.c': 1 } }],
}

describe('unflattening', () => {
  let service: SharedService
  let count = 0
  before(async () => {
    service = await sharedService()
  })
  after(() => service?.stop())

  const next = (): string => `id-${++count}`

  const sourceData = async (given: JsonObject, flag: boolean | null | undefined): Promise<unknown> => {
    const answer = await service.submit('/feedbacks', {
      description: 'x',
      sourceData: given,
      ...(flag !== undefined && { shouldUnflattenSourceData: flag }),
    })
    const [row] = await service.sql`select source_data from feedback where id = ${answer.body.feedback.id}`
    assert.deepEqual(answer.body.feedback.sourceData, row?.['source_data'])
    return row?.['source_data']
  }

  for (const [what, [given, unflattened]] of Object.entries(CASES)) {
    it(what, async () => {
      assert.deepEqual(await sourceData(given, true), unflattened)
      const backwards = Object.fromEntries(Object.entries(given).toReversed())
      assert.deepEqual(await sourceData(backwards, true), unflattened)
    })
  }

  it('happens only when it is asked for', async () => {
    for (const flag of [undefined, null, false]) assert.deepEqual(await sourceData({ 'a.b': 1 }, flag), { 'a.b': 1 })
  })

  it('takes $-keys out first, so that they keep their meaning', async () => {
    const id = next()
    const properties = { $name: 'Ada', '$custom.key': 1, 'plan.name': 'gold' }
    await service.submit('/contacts/identify', { id, shouldUnflattenProperties: true, properties })
    const [row] = await service.sql`
      select c.name, c.properties from contact_external_id as e join contact as c on c.id = e.contact_id
      where e.external_id = ${id}`
    assert.deepEqual({ ...row }, { name: 'Ada', properties: { '$custom.key': 1, plan: { name: 'gold' } } })
  })

  it('is governed by the flag of each object on its own', async () => {
    const id = next()
    const properties = { 'a.b': 1 }
    const account = { id, properties: { $name: id, $domain: `${id}.example`, ...properties } }
    await service.submit('/contacts/identify', { id, shouldUnflattenProperties: true, properties, account })
    const [row] = await service.sql`
      select c.properties as contact, a.properties as account
      from contact_external_id as e
      join contact as c on c.id = e.contact_id
      join account as a on a.id = c.account_id
      where e.external_id = ${id}`
    assert.deepEqual({ ...row }, { contact: { a: { b: 1 } }, account: { 'a.b': 1 } })
  })

  describe('and propagating', () => {
    const rawData = async (conversation: object, messages: object[]): Promise<unknown[]> => {
      const id = next()
      const common = { source: 'Intercom', createdAt: CREATED_AT, contacts: [] }
      const full = messages.map((message, index) => ({
        id: `m${index}`,
        incoming: true,
        content: '',
        createdAt: CREATED_AT,
        ...message,
      }))
      await service.submit('/conversations', { id, ...common, ...conversation, messages: full })
      const rows = await service.sql<{ data: unknown }[]>`
        select m.raw_data as data from message as m join conversation as v on v.id = m.conversation_id
        where v.external_id = ${id} order by m.external_id`
      return rows.map(({ data }) => data)
    }

    it('gives each message the properties of its conversation, under its own', async () => {
      const given = { properties: { a: 1, b: 2 }, propagatePropertiesToMessages: true }
      const stored = await rawData(given, [{ properties: { b: 'own', c: 3 } }, { properties: {} }, {}])
      assert.deepEqual(stored, [
        { a: 1, b: 'own', c: 3 },
        { a: 1, b: 2 },
        { a: 1, b: 2 },
      ])
    })

    it('does not happen unless it is asked for', async () => {
      for (const flag of [{}, { propagatePropertiesToMessages: null }, { propagatePropertiesToMessages: false }]) {
        assert.deepEqual(await rawData({ properties: { a: 1 }, ...flag }, [{ properties: { b: 2 } }]), [{ b: 2 }])
      }
    })

    it('comes after unflattening both, and merges at the top level alone', async () => {
      const given = {
        properties: { 'a.b': 1, 'c.d': 2 },
        shouldUnflattenProperties: true,
        propagatePropertiesToMessages: true,
      }
      const stored = await rawData(given, [
        { properties: { 'a.x': 9 }, shouldUnflattenProperties: true },
        { properties: { 'a.x': 9 } },
      ])
      assert.deepEqual(stored, [
        { a: { x: 9 }, c: { d: 2 } },
        { a: { b: 1 }, 'a.x': 9, c: { d: 2 } },
      ])
    })

    it('lets a null of the message win, too', async () => {
      const given = { properties: { a: 1 }, propagatePropertiesToMessages: true }
      assert.deepEqual(await rawData(given, [{ properties: { a: null } }]), [{ a: null }])
    })
  })
})
