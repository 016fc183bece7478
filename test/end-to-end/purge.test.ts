import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { JsonObject } from '../../contract/json.ts'
import type { Answer } from '../support/service.ts'
import { idleService, type SharedService, sharedService } from '../support/shared-service.ts'
import { tablesWith } from '../support/traces.ts'
import { until } from '../support/until.ts'

/** Another contact of a conversation, which stays. */
const OTHER = 'other'

describe('purging a contact', () => {
  let service: SharedService
  let count = 0
  before(async () => {
    service = await sharedService()
  })
  after(() => service?.stop())

  const unique = (): string => `u${++count}`
  const identify = async (body: JsonObject): Promise<void> => {
    await service.submit('/contacts/identify', body)
  }
  const ask = (body: object): Promise<Answer> => service.post('/contacts/purge', body, { token: service.adminToken })
  const purge = async (body: object): Promise<void> => {
    const answer = await ask(body)
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(answer.body, { success: true })
    assert.equal(await service.settled(answer), 'applied')
  }
  const sourcesOf = async (externalId: string): Promise<string[]> => {
    const rows = await service.sql<{ source: string }[]>`
      select source from contact_external_id where external_id = ${externalId} order by source`
    return rows.map(({ source }) => source)
  }

  describe('matches', () => {
    it('no contact: 404 with an error, by id, by email and in another source', async () => {
      const id = unique()
      await identify({ id, source: 'Zendesk', properties: { $email: `${id}@example.com` } })
      const strangers = [
        { id: 'stranger' },
        { email: 'stranger@example.com' },
        { id: 'stranger', email: 'stranger@example.com' },
        { id, source: 'Intercom' },
        { email: `${id}@example.com`, source: 'Intercom' },
      ]
      for (const body of strangers) {
        const answer = await ask(body)
        assert.equal(answer.status, 404, answer.text)
        assert.deepEqual(Object.keys(answer.body), ['error'])
        assert.equal(typeof answer.body.error, 'string')
      }
      assert.deepEqual(await sourcesOf(id), ['Zendesk'])
    })

    it('by id and email together: the union', async () => {
      const [byId, byEmail, neither] = [unique(), unique(), unique()]
      await identify({ id: byId, properties: { $email: `${byId}@example.com` } })
      await identify({ id: byEmail, properties: { $email: `${byEmail}@example.com` } })
      await identify({ id: neither, properties: { $email: `${neither}@example.com` } })
      await purge({ id: byId, email: `${byEmail}@example.com` })
      assert.deepEqual([await sourcesOf(byId), await sourcesOf(byEmail)], [[], []])
      assert.deepEqual(await sourcesOf(neither), ['API'])
    })

    it('once: the second answers 404', async () => {
      const id = unique()
      await identify({ id })
      await purge({ id })
      assert.equal((await ask({ id })).status, 404)
    })
  })

  it('lets the same id start a new contact', async () => {
    const id = unique()
    await identify({ id, properties: { $name: 'Former', plan: 'gold' } })
    await purge({ id })
    await identify({ id, properties: { $name: 'Fresh' } })
    const [fresh] = await service.sql`
      select c.name, c.properties from contact_external_id as e join contact as c on c.id = e.contact_id
      where e.external_id = ${id}`
    assert.deepEqual([fresh!['name'], fresh!['properties']], ['Fresh', {}])
  })

  /** A contact with rows in every table, beside another one that stays. */
  const tellEverythingOf = async (mark: string): Promise<string> => {
    const email = `${mark}@example.com`
    const id = `${mark}-id`
    const properties = { $email: email, $name: mark, [mark]: { [mark]: mark } }
    await identify({ id, source: mark, properties })
    const named = { description: mark, title: mark, sourceId: mark, sourceData: { [mark]: mark }, contact: { email } }
    await service.submit('/feedbacks', named)
    const tagged = { description: 'x', tags: [mark], isExternalContactId: true, contactId: id }
    await service.submit('/feedbacks', tagged)
    const createdAt = '2026-01-01T00:00:00Z'
    const message = { incoming: true, content: mark, createdAt, properties: { [mark]: mark }, sourceUrl: mark }
    const theirs = { ...message, id: mark, contactId: id }
    const neutral = { ...message, content: 'Hello', properties: {}, sourceUrl: null }
    const conversation = { source: 'Intercom', createdAt, contacts: [{ id, source: mark }], messages: [theirs] }
    await service.submit('/conversations', { ...conversation, id: 'alone', title: mark })
    await service.submit('/conversations', {
      ...conversation,
      id: 'shared',
      contacts: [...conversation.contacts, { id: OTHER }],
      messages: [
        theirs,
        { ...neutral, id: 'of-other', contactId: OTHER },
        { ...neutral, id: 'of-team', incoming: false },
      ],
    })
    await until('all records have their tags', async () => {
      const [row] = await service.sql<{ tagged: boolean }[]>`
        select not exists (select from feedback where tags is null)
          and not exists (select from conversation where tags is null) as tagged`
      return row!.tagged
    })
    return email
  }

  it('leaves no trace of the contact in Postgres or in the logs, and keeps the other contacts of a conversation', async () => {
    const mark = 'vanishing'
    const email = await tellEverythingOf(mark)
    const tables = await tablesWith({ sql: service.all }, mark)
    for (const table of ['contact', 'contact_external_id', 'feedback', 'conversation', 'message', 'feedback_category'])
      assert.ok(tables.includes(table), `${table} must have rows to remove`)
    await purge({ email })
    assert.deepEqual(await tablesWith({ sql: service.all }, mark), [])
    assert.equal(service.output().includes(mark), false)
    const conversations = await service.sql`
      select v.external_id as id,
        array(select e.external_id from conversation_contact as vc join contact_external_id as e using (contact_id)
          where vc.conversation_id = v.id) as contacts,
        array(select m.external_id from message as m where m.conversation_id = v.id order by 1) as messages
      from conversation as v where v.source = 'Intercom'`
    assert.deepEqual([...conversations], [{ id: 'shared', contacts: [OTHER], messages: ['of-other', 'of-team'] }])
  })
})

describe('purging queued submissions', () => {
  let service: SharedService
  before(async () => {
    service = await idleService()
  })
  after(() => service?.stop())

  const purge = async (body: object): Promise<void> => {
    const answer = await service.post('/contacts/purge', body, { token: service.adminToken })
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(answer.body, { success: true })
  }

  it('is accepted before its decision, for a contact that was identified or named just before', async () => {
    const contact = { email: 'queued@example.com' }
    assert.equal((await service.post('/contacts/identify', { id: 'queued' })).status, 201)
    assert.equal((await service.post('/feedbacks', { description: 'x', contact })).status, 201)
    await Promise.all([purge({ id: 'queued' }), purge(contact)])
  })
})
