import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { JsonObject } from '../../contract/json.ts'
import type { Answer } from '../support/service.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'

const CREATED_AT = '2026-01-01T00:00:00Z'

describe('submitting the same record again', () => {
  let service: SharedService
  let count = 0
  before(async () => {
    service = await sharedService()
  })
  after(() => service?.stop())

  const next = (): string => `id-${++count}`

  describe('a feedback', () => {
    const feedback = (body: object): Promise<Answer> => service.submit('/feedbacks', { description: 'x', ...body })
    const idOf = ({ body }: Answer): string => body.feedback.id as string
    const rowOf = async (id: string): Promise<JsonObject> => {
      const [row] = await service.sql<{ row: JsonObject }[]>`
        select to_jsonb(f) as row from feedback as f where id = ${id}`
      return row!.row
    }

    it('keeps its id, and is replaced as a whole', async () => {
      const record = { source: 'Zendesk', sourceId: next() }
      const contact = { email: 'first@example.com' }
      const full = { title: 'T', tags: ['A'], isTranscript: true, rating: 3, sourceData: { a: 1, b: 2 }, contact }
      const first = await feedback({ ...record, ...full, project: { name: 'P' }, account: { name: 'Acme' } })
      const second = await feedback({ ...record, description: 'Later', sourceData: { c: 3 }, tags: [] })
      const { id } = first.body.feedback
      assert.deepEqual(second.body.feedback, {
        id,
        description: 'Later',
        sourceId: record.sourceId,
        sourceData: { c: 3 },
      })
      const row = await rowOf(id)
      assert.deepEqual([row['description'], row['source_data'], row['tags']], ['Later', { c: 3 }, []])
      for (const column of ['title', 'is_transcript', 'rating', 'contact_id', 'account_id', 'project_id']) {
        assert.equal(row[column], null, column)
      }
      assert.notEqual(row['updated_at'], row['accepted_at'])
      assert.equal((await service.sql`select from feedback where source_id = ${record.sourceId}`).count, 1)
    })

    it('is another one in another source; API is meant where none is given', async () => {
      const sourceId = next()
      const ids = await Promise.all(
        [{}, { source: null }, { source: 'API' }, { source: 'Zendesk' }].map(async (source) =>
          idOf(await feedback({ sourceId, ...source })),
        ),
      )
      assert.equal(new Set(ids.slice(0, 3)).size, 1)
      assert.notEqual(ids[3], ids[0])
    })

    it('is always another one without a source id', async () => {
      const ids = [await feedback({}), await feedback({}), await feedback({ sourceId: null })]
      assert.equal(new Set(ids.map(idOf)).size, 3)
    })
  })

  describe('a conversation', () => {
    const submit = (body: JsonObject): Promise<Answer> =>
      service.submit('/conversations', {
        source: 'Intercom',
        createdAt: CREATED_AT,
        contacts: [],
        messages: [],
        ...body,
      })
    const message = (id: string, more: JsonObject = {}): JsonObject => ({
      id,
      incoming: true,
      content: `content of ${id}`,
      createdAt: CREATED_AT,
      ...more,
    })
    const messagesOf = async (externalId: string): Promise<Record<string, string>> => {
      const rows = await service.sql<{ id: string; content: string }[]>`
        select m.external_id as id, m.content from message as m
        join conversation as v on v.id = m.conversation_id where v.external_id = ${externalId}`
      return Object.fromEntries(rows.map(({ id, content }) => [id, content]))
    }
    const contactsOf = async (externalId: string): Promise<string[]> => {
      const rows = await service.sql<{ id: string }[]>`
        select e.external_id as id from conversation as v
        join conversation_contact as vc on vc.conversation_id = v.id
        join contact_external_id as e on e.contact_id = vc.contact_id
        where v.external_id = ${externalId} order by e.external_id`
      return rows.map(({ id }) => id)
    }

    it('is replaced by the later one, and keeps its id', async () => {
      const id = next()
      await submit({ id, title: 'First', rating: 1, properties: { a: 1 }, updatedAt: CREATED_AT })
      const select = () =>
        service.sql`select id, title, rating, properties, updated_at from conversation where external_id = ${id}`
      const [first] = await select()
      await submit({ id, properties: { b: 2 } })
      const later = await select()
      assert.deepEqual(
        [...later],
        [{ id: first!['id'], title: null, rating: null, properties: { b: 2 }, updated_at: null }],
      )
    })

    it('that is older by its updatedAt replaces nothing, and adds what is missing', async () => {
      const id = next()
      const [older, newer] = ['2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z']
      await submit({ id, title: 'Newer', updatedAt: newer, properties: { a: 1 }, messages: [message('1')] })
      const messages = [message('1', { content: 'older' }), message('2')]
      await submit({ id, title: 'Older', updatedAt: older, properties: { b: 2 }, messages, contacts: [{ id: 'late' }] })
      const [row] = await service.sql`
        select title, properties, updated_at from conversation where external_id = ${id}`
      assert.deepEqual({ ...row }, { title: 'Newer', properties: { a: 1 }, updated_at: new Date(newer) })
      assert.deepEqual(await messagesOf(id), { 1: 'content of 1', 2: 'content of 2' })
      assert.deepEqual(await contactsOf(id), ['late'])
    })

    it('is another one in another source', async () => {
      const id = next()
      await submit({ id })
      await submit({ id, source: 'Zendesk' })
      assert.equal((await service.sql`select from conversation where external_id = ${id}`).count, 2)
    })

    it('keeps messages and contacts that are missing later, and replaces those that come again', async () => {
      const id = next()
      await submit({ id, messages: [message('1'), message('2')], contacts: [{ id: 'a' }, { id: 'b' }] })
      await submit({ id, messages: [message('2', { content: 'new' }), message('3')], contacts: [{ id: 'c' }] })
      assert.deepEqual(await messagesOf(id), { 1: 'content of 1', 2: 'new', 3: 'content of 3' })
      assert.deepEqual(await contactsOf(id), ['a', 'b', 'c'])
    })

    it('leaves a message the raw data of the submission that brought it', async () => {
      const id = next()
      const propagated = { propagatePropertiesToMessages: true }
      await submit({ id, properties: { from: 'first' }, ...propagated, messages: [message('1'), message('2')] })
      await submit({ id, properties: { from: 'second' }, ...propagated, messages: [message('2')] })
      const rows = await service.sql<{ data: unknown }[]>`
        select m.raw_data as data from message as m join conversation as v on v.id = m.conversation_id
        where v.external_id = ${id} order by m.external_id`
      assert.deepEqual(
        rows.map(({ data }) => data),
        [{ from: 'first' }, { from: 'second' }],
      )
    })

    it('has messages of its own: the same id in two conversations is two messages', async () => {
      const [one, other] = [next(), next()]
      await submit({ id: one, messages: [message('same', { content: 'one' })] })
      await submit({ id: other, messages: [message('same', { content: 'other' })] })
      assert.deepEqual([await messagesOf(one), await messagesOf(other)], [{ same: 'one' }, { same: 'other' }])
    })

    it('keeps a message that is older than itself, with its own time, also when it comes with a later submission', async () => {
      const id = next()
      const older = '2001-02-03T04:05:06.000Z'
      await submit({ id, messages: [message('1')] })
      await submit({ id, messages: [message('0', { createdAt: older })] })
      const rows = await service.sql<{ id: string; at: Date; since: Date }[]>`
        select m.external_id as id, m.created_at as at, v.created_at as since from message as m
        join conversation as v on v.id = m.conversation_id where v.external_id = ${id} order by m.external_id`
      assert.deepEqual(
        rows.map((row) => [row.id, row.at.toISOString()]),
        [
          ['0', older],
          ['1', new Date(CREATED_AT).toISOString()],
        ],
      )
      assert.equal(rows[0]!.since.toISOString(), new Date(CREATED_AT).toISOString())
    })

    it('takes the later one of doubles within one submission', async () => {
      const id = next()
      const contact = { id: `c-${id}`, properties: { $name: 'Earlier', plan: 'gold' } }
      const messages = [message('1', { content: 'earlier' }), message('1', { content: 'later' })]
      await submit({ id, messages, contacts: [contact, { id: contact.id, properties: { $name: 'Later' } }] })
      assert.deepEqual(await messagesOf(id), { 1: 'later' })
      const [row] = await service.sql`
        select c.name from contact as c join contact_external_id as e on e.contact_id = c.id
        where e.external_id = ${contact.id}`
      assert.equal(row?.['name'], 'Later')
    })
  })

  it('a contact that is identified with an older $updatedAt only gets what it lacks', async () => {
    const id = next()
    const identify = (properties: JsonObject): Promise<Answer> =>
      service.submit('/contacts/identify', { id, properties })
    await identify({ $name: 'Newer', $updatedAt: '2026-01-03T00:00:00Z', plan: 'gold' })
    await identify({ $name: 'Older', $updatedAt: '2026-01-02T00:00:00Z', $contractValue: 7, plan: 'free', seats: 3 })
    const [row] = await service.sql`
      select c.name, c.contract_value::float8 as value, c.properties from contact as c
      join contact_external_id as e on e.contact_id = c.id where e.external_id = ${id}`
    assert.deepEqual({ ...row }, { name: 'Newer', value: 7, properties: { plan: 'gold', seats: 3 } })
  })

  it('a contact or account: properties merge key by key, null clears', async () => {
    const id = next()
    const identify = (properties: JsonObject): Promise<Answer> =>
      service.submit('/contacts/identify', { id, properties })
    await identify({ $name: 'Ada', $email: `${id}@example.com`, $contractValue: 5, plan: { a: 1 }, seats: 3 })
    await identify({ $name: null, $contractValue: null, plan: { b: 2 }, seats: null })
    await identify({})
    const [row] = await service.sql`
      select c.name, c.email, c.contract_value, c.properties from contact as c
      join contact_external_id as e on e.contact_id = c.id where e.external_id = ${id}`
    const properties = { plan: { b: 2 }, seats: null }
    assert.deepEqual({ ...row }, { name: null, email: `${id}@example.com`, contract_value: null, properties })
  })
})
