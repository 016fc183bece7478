import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { JsonObject } from '../../contract/json.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'

type Links = { contact: string | null; account: string | null; project: string | null }

describe('a feedback', () => {
  let service: SharedService
  let count = 0
  before(async () => {
    service = await sharedService()
  })
  after(() => service?.stop())

  const next = (): string => `id-${++count}`

  /** Submits a feedback. The answer tells what the stored row has, or leaves out what it cannot tell in time. */
  const give = async (body: object): Promise<Links & { id: string }> => {
    const { feedback } = (await service.submit('/feedbacks', { description: 'x', ...body })).body
    const links = await linksOf(feedback.id)
    if (feedback.customerId !== undefined) assert.equal(feedback.customerId, links.contact)
    if (feedback.projectId !== undefined) assert.equal(feedback.projectId, links.project)
    return { id: feedback.id, ...links }
  }
  const linksOf = async (id: string): Promise<Links> => {
    const [row] = await service.sql<Links[]>`
      select contact_id as contact, account_id as account, project_id as project from feedback where id = ${id}`
    return { ...row! }
  }
  const contactOf = async (externalId: string, source = 'API'): Promise<string> => {
    const [row] = await service.sql<{ id: string }[]>`
      select contact_id as id from contact_external_id where external_id = ${externalId} and source = ${source}`
    return row!.id
  }
  const accountOf = async (externalId: string): Promise<string> => {
    const [row] = await service.sql<{ id: string }[]>`
      select account_id as id from account_external_id where external_id = ${externalId}`
    return row!.id
  }
  const identify = async (body: JsonObject): Promise<void> => {
    await service.submit('/contacts/identify', body)
  }
  const identifyAccount = async (id: string): Promise<void> => {
    const properties = { $name: `Name of ${id}`, $domain: `${id}.example` }
    await service.submit('/accounts/identify', { id, properties })
  }

  describe('finds its contact', () => {
    it('by own id, as contactId and as contact.id', async () => {
      const id = next()
      await identify({ id })
      const own = await contactOf(id)
      for (const body of [{ contactId: own }, { contact: { id: own } }, { contactId: own.toUpperCase() }]) {
        assert.equal((await give(body)).contact, own)
      }
    })

    it('by external id when the flag says so, and by it alone', async () => {
      const id = next()
      await identify({ id })
      for (const body of [{ contactId: id }, { contact: { id } }]) {
        assert.equal((await give({ ...body, isExternalContactId: true })).contact, await contactOf(id))
        assert.equal((await give(body)).contact, null)
      }
    })

    it('by external id in its own source first, else in the oldest', async () => {
      const id = next()
      await identify({ id, source: 'Zendesk' })
      await identify({ id, source: 'Intercom' })
      const named = { isExternalContactId: true, contactId: id }
      assert.equal((await give({ ...named, source: 'Intercom' })).contact, await contactOf(id, 'Intercom'))
      assert.equal((await give({ ...named, source: 'Elsewhere' })).contact, await contactOf(id, 'Zendesk'))
    })

    it('by email, and creates it when there is none', async () => {
      const email = `${next()}@Example.com`
      const first = await give({ contact: { email, name: 'Ada', sourceData: { plan: 'gold' } } })
      const second = await give({
        contact: { email: ` Grace <${email.toLowerCase()}> `, name: 'Grace', sourceData: { seats: 2 } },
      })
      assert.ok(first.contact)
      assert.equal(second.contact, first.contact)
      const [row] = await service.sql`select name, email, properties from contact where id = ${first.contact}`
      assert.deepEqual({ ...row }, { name: 'Ada', email, properties: { plan: 'gold', seats: 2 } })
    })

    it('by the email of an identified contact, before and after it was identified', async () => {
      const id = next()
      const email = `${id}@example.com`
      const earlier = await give({ contact: { email } })
      await identify({ id, properties: { $email: email } })
      const own = await contactOf(id)
      assert.equal((await linksOf(earlier.id)).contact, own)
      assert.equal((await give({ contact: { email } })).contact, own)
      assert.equal((await give({ contactId: earlier.contact })).contact, own, 'an id that was returned keeps resolving')
    })

    it('by name alone: one of its own, which the same record keeps', async () => {
      const named = { contact: { name: 'Ada' } }
      const record = { source: 'Zendesk', sourceId: next() }
      const first = await give({ ...record, ...named })
      assert.ok(first.contact)
      assert.equal((await give({ ...record, ...named })).contact, first.contact)
      assert.notEqual((await give(named)).contact, first.contact)
    })

    it('nowhere when there is neither name nor email', async () => {
      for (const contact of [{}, { sourceData: { a: 1 } }, { email: '  ' }, { name: '', email: 'N/A' }, null]) {
        assert.equal((await give({ contact })).contact, null)
      }
    })

    it('by contactId rather than contact, unless it is unknown', async () => {
      const [one, other] = [next(), next()]
      await identify({ id: one })
      await identify({ id: other, properties: { $email: `${other}@example.com` } })
      const contact = { email: `${other}@example.com` }
      assert.equal((await give({ contactId: await contactOf(one), contact })).contact, await contactOf(one))
      assert.equal((await give({ contactId: randomUUID(), contact })).contact, await contactOf(other))
      assert.equal((await give({ contact: { id: randomUUID(), ...contact } })).contact, await contactOf(other))
    })
  })

  describe('finds its account', () => {
    it('by own id and by external id', async () => {
      const id = next()
      await identifyAccount(id)
      const own = await accountOf(id)
      for (const body of [{ accountId: own }, { account: { id: own } }]) assert.equal((await give(body)).account, own)
      for (const body of [{ accountId: id }, { account: { id } }]) {
        assert.equal((await give({ ...body, isExternalAccountId: true })).account, own)
        assert.equal((await give(body)).account, null)
      }
    })

    it('by the name or the domain of an identified one', async () => {
      const id = next()
      await identifyAccount(id)
      const own = await accountOf(id)
      assert.equal((await give({ account: { name: `Name of ${id}` } })).account, own)
      assert.equal(
        (await give({ account: { domain: ` https://www.${id.toUpperCase()}.EXAMPLE/about ` } })).account,
        own,
      )
      assert.notEqual((await give({ account: { name: `NAME OF ${id}` } })).account, own)
    })

    it('by the domain when name and domain disagree', async () => {
      const [one, other] = [next(), next()]
      await identifyAccount(one)
      await identifyAccount(other)
      const { account } = await give({ account: { name: `Name of ${one}`, domain: `${other}.example` } })
      assert.equal(account, await accountOf(other))
    })

    it('by name and by domain, and creates it when there is none', async () => {
      const name = next()
      const both = await give({ account: { name, domain: `${name}.example`, contractValue: 5, sourceData: { a: 1 } } })
      assert.ok(both.account)
      assert.equal((await give({ account: { domain: `${name}.example`, contractValue: 6 } })).account, both.account)
      assert.equal((await give({ account: { name } })).account, both.account)
      const [row] = await service.sql`
        select name, domain, contract_value::float8 as value, properties from account where id = ${both.account}`
      assert.deepEqual({ ...row }, { name, domain: `${name}.example`, value: 5, properties: { a: 1 } })
    })

    it('nowhere when there is neither name nor domain', async () => {
      for (const account of [{}, { contractValue: 5 }, { name: ' ', domain: 'unknown' }, null]) {
        assert.equal((await give({ account })).account, null)
      }
    })
  })

  describe('finds its project', () => {
    it('by name, creates it when there is none, and finds it by the id that was returned', async () => {
      const name = next()
      const first = await give({ project: { name } })
      assert.ok(first.project)
      assert.equal((await give({ project: { name } })).project, first.project)
      assert.equal((await give({ projectId: first.project })).project, first.project)
      assert.equal((await give({ project: { id: first.project } })).project, first.project)
      assert.notEqual((await give({ project: { name: name.toUpperCase() } })).project, first.project)
    })
  })

  describe('with ids that nobody has', () => {
    it('is stored without them, and without an error', async () => {
      for (const id of [randomUUID(), 'unknown']) {
        const links = await give({ contactId: id, accountId: id, projectId: id })
        assert.deepEqual([links.contact, links.account, links.project], [null, null, null])
      }
    })

    it('is linked late when an external contact or account is identified at last', async () => {
      const id = next()
      const named = { isExternalContactId: true, contactId: id, isExternalAccountId: true, accountId: id }
      const feedback = await give(named)
      assert.deepEqual([feedback.contact, feedback.account], [null, null])
      await identify({ id, source: 'Zendesk' })
      await identifyAccount(id)
      const later = await linksOf(feedback.id)
      assert.deepEqual([later.contact, later.account], [await contactOf(id, 'Zendesk'), await accountOf(id)])
    })
  })
})
