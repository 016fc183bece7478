import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { hashKeyFrom, ownId, type Realm } from '../../contract/identity/own-id.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const CONTACTS = Number(process.env['READ_YOUR_WRITES'] ?? (process.env['TEST_SIZE'] === 'long' ? 10_000 : 150))
const AT_ONCE = 16
const DRAINED_WITHIN_MS = 60_000 + CONTACTS * 60

describe('what was answered is seen by the next request', () => {
  let service: Service
  let realm: Realm
  before(async () => {
    service = await startService()
    realm = { hashKey: hashKeyFrom(service.environment['HASH_KEY']!), workspaceId: service.workspaceId }
  })
  after(() => service.stop())

  const pause = () => Promise.all(Object.values(service.queues).map((queue) => queue.pause()))
  const resume = () => Promise.all(Object.values(service.queues).map((queue) => queue.resume()))
  const drained = () => until('nothing is queued', async () => (await outstanding()) === 0, DRAINED_WITHIN_MS)
  const outstanding = () => service.redis.zcard(`{${service.redisPrefix}:${service.workspaceId}}:outstanding`)

  const accepted = async (path: string, body: object, token?: string) => {
    const answer = await service.post(path, body, token === undefined ? {} : { token })
    assert.ok(answer.status === 200 || answer.status === 201, `${path}: ${answer.status} ${answer.text}`)
    return answer
  }
  const customerOf = async (body: object): Promise<string | undefined> => {
    const answer = await accepted('/feedbacks', { description: 'x', ...body })
    return answer.body.feedback.customerId as string | undefined
  }

  /**
   * A contact's first second: identified, named by every kind of reference, every other one purged, and every other one of
   * those identified again.
   */
  const visit = async (mark: string, index: number): Promise<void> => {
    const id = `${mark}-${index}`
    const email = `${id}@example.com`
    const source = index % 3 === 0 ? 'crm' : undefined
    const anonymous = await customerOf({ contact: { email } })
    assert.equal(anonymous, ownId(realm, 'contact_email', email), 'an email that nobody has claimed')
    await accepted('/contacts/identify', { id, ...(source && { source }), properties: { $email: email } })
    const contact = ownId(realm, 'contact_external', source ?? 'API', id)
    assert.equal(await customerOf({ isExternalContactId: true, contactId: id }), contact, 'by external id')
    assert.equal(await customerOf({ contact: { email: ` ${email.toUpperCase()} ` } }), contact, 'by email')
    assert.equal(await customerOf({ contactId: contact }), contact, 'by own id')
    assert.equal(await customerOf({ contactId: anonymous }), contact, 'by the id of the absorbed')
    assert.equal(await customerOf({ contactId: crypto.randomUUID() }), undefined, 'by an id of nobody')
    if (index % 2 !== 0) return

    await accepted('/contacts/purge', index % 4 === 0 ? { id } : { email }, service.adminToken)
    const again = await service.post('/contacts/purge', { id }, { token: service.adminToken })
    assert.equal(again.status, 404, 'purged already')
    assert.equal(await customerOf({ contactId: contact }), undefined, 'by the own id of the purged')
    assert.equal(await customerOf({ contactId: anonymous }), undefined, 'by the id of the absorbed, purged')
    const fresh = await customerOf({ contact: { email } })
    assert.ok(
      fresh !== undefined && fresh !== anonymous && fresh !== contact,
      'by the email of the purged, somebody new',
    )
    if (index % 4 !== 0) return

    await accepted('/contacts/identify', { id, ...(source && { source }), properties: { $email: email } })
    const returned = await customerOf({ isExternalContactId: true, contactId: id })
    assert.ok(returned !== undefined && returned !== contact && returned !== fresh, 'who came back has a new id')
    assert.equal(await customerOf({ contactId: fresh }), returned, 'by the fresh id, absorbed')
  }

  const visitAll = async (mark: string): Promise<void> => {
    let next = 0
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (next < CONTACTS) await visit(mark, next++)
      }),
    )
  }

  const storedAsAnswered = async (mark: string): Promise<void> => {
    await drained()
    const [row] = await service.sql<{ contacts: number; feedback: number }[]>`
      select count(distinct e.contact_id)::int as contacts, count(f.id)::int as feedback
      from contact_external_id as e join feedback as f on f.contact_id = e.contact_id
      where e.external_id like ${`${mark}-%`}`
    const kept = Math.floor(CONTACTS / 2)
    const returned = Math.ceil(CONTACTS / 4)
    // Five of the six records of each contact that was not purged name somebody, and three of each that came back.
    assert.deepEqual(row, { contacts: kept + returned, feedback: kept * 5 + returned * 3 })
  }

  it(`while the queues are paused, for ${CONTACTS} contacts, and is stored so afterwards`, async () => {
    await pause()
    await visitAll('paused')
    await resume()
    await storedAsAnswered('paused')
  })

  it(`while workers run, for ${CONTACTS} contacts`, async () => {
    await visitAll('running')
    await storedAsAnswered('running')
  })

  it('a project is known by its id at once', async () => {
    await pause()
    const first = await accepted('/feedbacks', { description: 'x', project: { name: 'Reports' } })
    const { projectId } = first.body.feedback
    const second = await accepted('/feedbacks', { description: 'x', projectId })
    assert.equal(second.body.feedback.projectId, projectId)
    await resume()
    await drained()
  })
})
