import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { JsonObject } from '../../db/contract/json.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { redisKeysWith, tablesWith } from '../support/traces.ts'
import { until } from '../support/until.ts'

const CONVERSATION_SOURCE = 'Intercom'
const FINISHED_WITHIN_MS = 3_000

describe('purging a contact', () => {
  let service: Service
  let count = 0
  before(async () => {
    service = await startService({ environment: { CONVERSATIONS_PER_MINUTE: '100000' } })
  })
  after(() => service.stop())

  const unique = (): string => `u${++count}`
  const identify = async (body: JsonObject): Promise<void> => {
    await service.submit('/contacts/identify', body)
  }
  const ask = (body: JsonObject): Promise<Answer> =>
    service.post('/contacts/purge', body, { token: service.adminToken })
  const purge = async (body: JsonObject): Promise<void> => {
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
    it('nobody: 404 with an error, by id, by email and in another source', async () => {
      const id = unique()
      await identify({ id, source: 'Zendesk', properties: { $email: `${id}@example.com` } })
      const strangers = [
        { id: 'nobody' },
        { email: 'nobody@example.com' },
        { id: 'nobody', email: 'nobody@example.com' },
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

    it('by external id in all sources when none is given', async () => {
      const id = unique()
      await identify({ id, source: 'Zendesk' })
      await identify({ id, source: 'Intercom' })
      await purge({ id })
      assert.deepEqual(await sourcesOf(id), [])
    })

    it('by external id in the given source alone', async () => {
      const id = unique()
      await identify({ id, source: 'Zendesk' })
      await identify({ id, source: 'Intercom' })
      await purge({ id, source: 'Zendesk' })
      assert.deepEqual(await sourcesOf(id), ['Intercom'])
    })

    it('by email, in whatever case and with spaces around it', async () => {
      const id = unique()
      await identify({ id, properties: { $email: `${id}@Example.com` } })
      await purge({ email: ` ${id.toUpperCase()}@example.com ` })
      assert.deepEqual(await sourcesOf(id), [])
    })

    it('by email a contact that only a feedback has named', async () => {
      const email = `${unique()}@example.com`
      const feedback = await service.submit('/feedbacks', { description: 'x', contact: { email } })
      await purge({ email })
      assert.deepEqual([...(await service.sql`select from feedback where id = ${feedback.body.feedback.id}`)], [])
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

    it('by id and email although one of them is unknown', async () => {
      const id = unique()
      await identify({ id })
      await purge({ id, email: 'nobody@example.com' })
      assert.deepEqual(await sourcesOf(id), [])
    })

    it('an unknown external id that a feedback remembers', async () => {
      const contactId = unique()
      const feedback = await service.submit('/feedbacks', { description: 'x', isExternalContactId: true, contactId })
      await purge({ id: contactId })
      assert.deepEqual([...(await service.sql`select from feedback where id = ${feedback.body.feedback.id}`)], [])
    })

    it('once: the second answers 404', async () => {
      const id = unique()
      await identify({ id })
      await purge({ id })
      assert.equal((await ask({ id })).status, 404)
    })
  })

  it('lets the same id start as somebody new', async () => {
    const id = unique()
    await identify({ id, properties: { $name: 'Former', plan: 'gold' } })
    const [former] = await service.sql`select contact_id from contact_external_id where external_id = ${id}`
    await purge({ id })
    await identify({ id, properties: { $name: 'Fresh' } })
    const [fresh] = await service.sql`
      select e.contact_id, c.name, c.properties from contact_external_id as e join contact as c on c.id = e.contact_id
      where e.external_id = ${id}`
    assert.notEqual(fresh!['contact_id'], former!['contact_id'])
    assert.deepEqual([fresh!['name'], fresh!['properties']], ['Fresh', {}])
    const late = await service.submit('/feedbacks', { description: 'x', contactId: former!['contact_id'] })
    assert.equal('customerId' in late.body.feedback, false)
  })

  it('leaves no trace of the contact in Postgres, nor in the logs', async () => {
    const mark = 'vanishing'
    const { email, other } = await tellEverythingOf(mark)
    const tables = await tablesWith(service, mark)
    for (const table of [
      'contact',
      'contact_external_id',
      'feedback',
      'conversation',
      'message',
      'feedback_category',
    ]) {
      assert.ok(tables.includes(table), `${table} has to hold something to be removed`)
    }
    await purge({ email })
    assert.deepEqual(await tablesWith(service, mark), [])
    assert.equal(service.output().includes(mark), false)
    const conversations = await service.sql`
      select v.external_id as id,
        array(select e.external_id from conversation_contact as vc join contact_external_id as e using (contact_id)
          where vc.conversation_id = v.id) as contacts,
        array(select m.external_id from message as m where m.conversation_id = v.id order by 1) as messages
      from conversation as v where v.source = ${CONVERSATION_SOURCE}`
    assert.deepEqual([...conversations], [{ id: 'shared', contacts: [other], messages: ['of-other', 'of-team'] }])
  })

  it('leaves no trace of the contact in Redis', async () => {
    const mark = 'disappearing'
    const { email } = await tellEverythingOf(mark)
    await purge({ email })
    // The purge's own job ends a moment after the purge.
    let left: string[] = []
    await until(
      'Redis has no trace of the contact',
      async () => {
        left = await redisKeysWith(service, mark)
        return left.length === 0
      },
      FINISHED_WITHIN_MS,
    ).catch(() => {})
    assert.deepEqual(left, [])
  })

  it('leaves accounts and projects', async () => {
    const id = unique()
    const account = { id: `account-${id}`, properties: { $name: `Name ${id}`, $domain: `${id}.example` } }
    await identify({ id, account })
    const link = { isExternalContactId: true, contactId: id, account: { name: `Given ${id}` }, project: { name: id } }
    await service.submit('/feedbacks', { description: 'x', ...link })
    await purge({ id })
    const accounts = await service.sql`select name from account where name like ${`%${id}`} order by name`
    assert.deepEqual(
      accounts.map((row) => row['name']),
      [`Given ${id}`, `Name ${id}`],
    )
    assert.equal((await service.sql`select from project where name = ${id}`).count, 1)
  })

  /** A contact with something in every table, beside another one who stays. */
  const tellEverythingOf = async (mark: string): Promise<{ email: string; other: string }> => {
    const email = `${mark}@example.com`
    const id = `${mark}-id`
    const other = unique()
    await identify({ id, source: mark, properties: { $email: email, $name: mark, [mark]: { [mark]: mark } } })
    const feedback = await service.submit('/feedbacks', {
      description: mark,
      title: mark,
      sourceId: mark,
      sourceData: { [mark]: mark },
      contact: { email },
    })
    const tagged = { description: 'x', tags: [mark], isExternalContactId: true, contactId: id }
    await service.submit('/feedbacks', tagged)
    const createdAt = '2026-01-01T00:00:00Z'
    const message = { incoming: true, content: mark, createdAt, properties: { [mark]: mark }, sourceUrl: mark }
    const conversation = { source: CONVERSATION_SOURCE, createdAt, messages: [{ ...message, id: mark, contactId: id }] }
    await service.submit('/conversations', {
      ...conversation,
      id: 'alone',
      title: mark,
      contacts: [{ id, source: mark }],
    })
    await service.submit('/conversations', {
      ...conversation,
      id: 'shared',
      contacts: [{ id, source: mark }, { id: other }],
      messages: [
        { ...message, id: mark, contactId: id },
        { ...message, id: 'of-other', contactId: other, content: 'Hello', properties: {}, sourceUrl: null },
        { ...message, id: 'of-team', incoming: false, content: 'Hello', properties: {}, sourceUrl: null },
      ],
    })
    await until('everything has its tags', async () => {
      const [row] = await service.sql<{ tagged: boolean }[]>`
        select not exists (select from feedback where id = ${feedback.body.feedback.id} and tags is null)
          and not exists (select from conversation where tags is null) as tagged`
      return row!.tagged
    })
    return { email, other }
  }
})

describe('purging what is still queued', () => {
  let service: Service
  before(async () => {
    service = await startService({ workers: 0 })
  })
  after(() => service.stop())

  it('is accepted for a contact that was identified just before', async () => {
    assert.equal((await service.post('/contacts/identify', { id: 'queued' })).status, 201)
    const answer = await service.post('/contacts/purge', { id: 'queued' }, { token: service.adminToken })
    assert.equal(answer.status, 200, answer.text)
  })

  it('is accepted for a contact whom a feedback named just before', async () => {
    const contact = { email: 'queued@example.com' }
    assert.equal((await service.post('/feedbacks', { description: 'x', contact })).status, 201)
    const answer = await service.post('/contacts/purge', contact, { token: service.adminToken })
    assert.equal(answer.status, 200, answer.text)
  })
})
