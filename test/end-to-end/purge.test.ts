import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { JsonObject } from '../../contract/json.ts'
import type { Answer } from '../support/service.ts'
import { startService } from '../support/service.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'

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

  it('lets the same id start afresh', async () => {
    const id = unique()
    await identify({ id, properties: { $name: 'Former', plan: 'gold' } })
    await purge({ id })
    await identify({ id, properties: { $name: 'Fresh' } })
    const [fresh] = await service.sql`
      select c.name, c.properties from contact_external_id as e join contact as c on c.id = e.contact_id
      where e.external_id = ${id}`
    assert.deepEqual([fresh!['name'], fresh!['properties']], ['Fresh', {}])
  })

  it('leaves accounts and projects', async () => {
    const id = unique()
    const account = { id: `account-${id}`, properties: { $name: `Name ${id}`, $domain: `${id}.example` } }
    await identify({ id, account })
    const link = { isExternalContactId: true, contactId: id, account: { name: `Given ${id}` }, project: { name: id } }
    await service.submit('/feedbacks', { description: 'x', ...link })
    await purge({ id })
    const accounts = await service.sql<
      { name: string }[]
    >`select name from account where name like ${`%${id}`} order by name`
    assert.deepEqual(
      accounts.map(({ name }) => name),
      [`Given ${id}`, `Name ${id}`],
    )
    assert.equal((await service.sql`select from project where name = ${id}`).count, 1)
  })
})

describe('purging what is still queued', () => {
  let service: SharedService
  before(async () => {
    service = await startService({ workers: 0 })
  })
  after(() => service?.stop())

  const purge = async (body: object): Promise<void> => {
    const answer = await service.post('/contacts/purge', body, { token: service.adminToken })
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(answer.body, { success: true })
  }

  it('is accepted when it cannot be decided for long, of a contact that was identified or named just before', async () => {
    const contact = { email: 'queued@example.com' }
    assert.equal((await service.post('/contacts/identify', { id: 'queued' })).status, 201)
    assert.equal((await service.post('/feedbacks', { description: 'x', contact })).status, 201)
    await Promise.all([purge({ id: 'queued' }), purge(contact)])
  })
})
