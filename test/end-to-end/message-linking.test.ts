import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { JsonObject } from '../../contract/json.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'

const CREATED_AT = '2026-01-01T00:00:00Z'
const SOURCE = 'Intercom'

describe('a conversation', () => {
  let service: SharedService
  let count = 0
  before(async () => {
    service = await sharedService()
  })
  after(() => service?.stop())

  const next = (): string => `id-${++count}`
  const contactOf = async (externalId: string, source = SOURCE): Promise<string> => {
    const [row] = await service.sql<{ id: string }[]>`
      select contact_id as id from contact_external_id where external_id = ${externalId} and source = ${source}`
    return row!.id
  }
  const senderIn = async (externalId: string): Promise<string | null> => {
    const [row] = await service.sql<{ id: string | null }[]>`
      select m.contact_id as id from message as m join conversation as v on v.id = m.conversation_id
      where v.external_id = ${externalId}`
    return row!.id
  }
  /** One message by `contactId`, in a conversation of its own whose id is returned. */
  const converse = async (contactId: string, contacts: JsonObject[] = []): Promise<string> => {
    const id = next()
    const messages = [{ id: '1', incoming: true, content: 'x', createdAt: CREATED_AT, contactId }]
    await service.submit('/conversations', { id, source: SOURCE, createdAt: CREATED_AT, contacts, messages })
    return id
  }

  it('identifies its contacts in its own source, unless they name another', async () => {
    const [one, other] = [next(), next()]
    const account = { id: `account-${one}`, properties: { $name: one, $domain: `${one}.example` } }
    await converse(one, [
      { id: one, account, properties: { $name: 'Ada' } },
      { id: other, source: 'Zendesk' },
    ])
    const [contact] = await service.sql`
      select c.name, a.name as account, x.source from contact as c
      join account as a on a.id = c.account_id join account_external_id as x on x.account_id = a.id
      where c.id = ${await contactOf(one)}`
    assert.deepEqual({ ...contact }, { name: 'Ada', account: one, source: SOURCE })
    assert.ok(await contactOf(other, 'Zendesk'))
  })

  it('finds the sender of a message among its contacts first', async () => {
    const id = next()
    await service.submit('/contacts/identify', { id, source: SOURCE })
    assert.equal(await senderIn(await converse(id, [{ id, source: 'Zendesk' }])), await contactOf(id, 'Zendesk'))
  })

  it('finds the sender of a message in its own source, then in any', async () => {
    const id = next()
    await service.submit('/contacts/identify', { id, source: 'Zendesk' })
    assert.equal(await senderIn(await converse(id)), await contactOf(id, 'Zendesk'))
    await service.submit('/contacts/identify', { id, source: SOURCE })
    assert.equal(await senderIn(await converse(id)), await contactOf(id))
  })

  it('links the sender of a message late when it was unknown', async () => {
    const id = next()
    const conversation = await converse(id)
    assert.equal(await senderIn(conversation), null)
    await service.submit('/contacts/identify', { id })
    assert.equal(await senderIn(conversation), await contactOf(id, 'API'))
  })
})
