import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { JsonObject } from '../../contract/json.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'

const CREATED_AT = '2026-01-01T00:00:00Z'

// test/model/ tests the rules, also of the fold, and test/db/convergence.test.ts compares Postgres
// with them.
describe('identity, from the request to the row:', () => {
  let service: SharedService
  before(async () => {
    service = await sharedService()
  })
  after(() => service?.stop())

  const give = async (body: object): Promise<JsonObject> =>
    (await service.submit('/feedbacks', { description: 'x', ...body })).body.feedback as JsonObject
  const feedbackRow = async (id: unknown): Promise<JsonObject> => {
    const [row] = await service.sql<{ row: JsonObject }[]>`
      select to_jsonb(f) as row from feedback as f where id = ${id as string}`
    return row!.row
  }
  const converse = (id: string, body: object): Promise<unknown> =>
    service.submit('/conversations', { id, source: 'chat', createdAt: CREATED_AT, contacts: [], messages: [], ...body })
  const messagesOf = async (id: string): Promise<JsonObject[]> => {
    const rows = await service.sql<{ row: JsonObject }[]>`
      select to_jsonb(m) as row from message as m join conversation as v on v.id = m.conversation_id
      where v.external_id = ${id} order by m.external_id`
    return rows.map(({ row }) => row)
  }
  const message = (id: string, more: object = {}) => ({
    id,
    incoming: true,
    content: id,
    createdAt: CREATED_AT,
    ...more,
  })

  it('a contact that is identified late gets the earlier records with its email or its id', async () => {
    const email = 'late@example.com'
    const byEmail = await give({ contact: { email, name: 'Ada' } })
    const byId = await give({ isExternalContactId: true, contactId: 'late' })
    await converse('late', { messages: [message('1', { contactId: 'late' })] })
    await service.submit('/contacts/identify', { id: 'late', properties: { $email: email, plan: 'gold' } })
    const [contact] = await service.sql`
      select c.id, c.name, c.properties from contact as c join contact_external_id as e on e.contact_id = c.id
      where e.external_id = 'late'`
    assert.deepEqual([contact?.['name'], contact?.['properties']], ['Ada', { plan: 'gold' }])
    for (const { id } of [byEmail, byId]) assert.equal((await feedbackRow(id))['contact_id'], contact?.['id'])
    assert.equal((await messagesOf('late'))[0]?.['contact_id'], contact?.['id'])
    const again = await give({ contactId: byEmail['customerId'] })
    assert.equal((await feedbackRow(again['id']))['contact_id'], contact?.['id'], 'an id of an answer still resolves')
  })

  it('a feedback of the same source id replaces the former as a whole, and keeps its id', async () => {
    const record = { source: 'Zendesk', sourceId: 'replaced' }
    const links = { contact: { email: 'former@example.com' }, account: { name: 'Acme' }, project: { name: 'P' } }
    const first = await give({ ...record, ...links, title: 'T', tags: ['A'], rating: 3, sourceData: { a: 1 } })
    const second = await give({ ...record, description: 'Later', tags: [], sourceData: { b: 2 } })
    const { sourceId } = record
    assert.deepEqual(second, { id: first['id'], description: 'Later', sourceId, sourceData: { b: 2 } })
    const row = await feedbackRow(first['id'])
    assert.deepEqual([row['description'], row['source_data'], row['tags']], ['Later', { b: 2 }, []])
    for (const column of ['title', 'rating', 'contact_id', 'account_id', 'project_id']) assert.equal(row[column], null)
  })

  it('a conversation with an older updatedAt replaces no values, and adds missing ones', async () => {
    await converse('dated', { title: 'Newer', updatedAt: '2026-01-03T00:00:00Z', messages: [message('1')] })
    const messages = [message('1', { content: 'older' }), message('2')]
    await converse('dated', { title: 'Older', updatedAt: '2026-01-02T00:00:00Z', messages, contacts: [{ id: 'new' }] })
    const [row] = await service.sql`
      select title, array(select contact_id from conversation_contact where conversation_id = v.id) as contacts
      from conversation as v where external_id = 'dated'`
    assert.deepEqual([row?.['title'], row?.['contacts'].length], ['Newer', 1])
    assert.deepEqual(
      (await messagesOf('dated')).map(({ content }) => content),
      ['1', '2'],
    )
  })

  it('dotted keys nest on request, and a conversation propagates its properties to its messages', async () => {
    const given = { properties: { 'a.b': 1, c: 2 }, shouldUnflattenProperties: true }
    const messages = [message('1', { properties: { c: null, 'd.e': 3 } })]
    await converse('propagating', { ...given, propagatePropertiesToMessages: true, messages })
    assert.deepEqual((await messagesOf('propagating'))[0]?.['raw_data'], { a: { b: 1 }, c: null, 'd.e': 3 })
    const { id, sourceData } = await give({ sourceData: { 'a.b': 1 }, shouldUnflattenSourceData: true })
    assert.deepEqual([sourceData, (await feedbackRow(id))['source_data']], [{ a: { b: 1 } }, { a: { b: 1 } }])
  })

  it('an account is found by id, name and domain, and a project by name and id', async () => {
    const properties = { $name: 'Initech', $domain: 'initech.example' }
    await service.submit('/accounts/identify', { id: 'initech', properties })
    const [account] = await service.sql`
      select account_id as id from account_external_id where external_id = 'initech'`
    const { projectId } = await give({ project: { name: 'Reports' } })
    for (const named of [
      { isExternalAccountId: true, accountId: 'initech', projectId },
      { account: { name: 'Initech' }, project: { name: 'Reports' } },
      { account: { domain: 'https://www.INITECH.example/about' }, project: { id: projectId } },
    ]) {
      const row = await feedbackRow((await give(named))['id'])
      assert.deepEqual([row['account_id'], row['project_id']], [account?.['id'], projectId])
    }
  })
})
