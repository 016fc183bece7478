import assert from 'node:assert/strict'
import process from 'node:process'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import type { JsonObject } from '../../contract/json.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { readLedger } from '../support/ledgers.ts'
import type { Answer } from '../support/service.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

describe('the answer to a feedback', () => {
  let service: SharedService
  before(async () => {
    service = await sharedService()
  })
  after(() => service?.stop())

  it('has the members of the interface, and no others', async () => {
    const sent = {
      description: 'The export is slow',
      title: 'Export',
      tags: ['Export'],
      rating: 4,
      sourceId: '17',
      sourceData: { 'view.id': 5, url: 'https://example.com' },
      shouldUnflattenSourceData: true,
      contact: { email: 'ada@example.com' },
      project: { name: 'Apollo' },
      account: { name: 'Acme' },
    }
    const { body, status } = await service.submit('/feedbacks', sent)
    assert.equal(status, 201)
    const { id, customerId, projectId } = body.feedback
    for (const own of [id, customerId, projectId]) assert.match(own, UUID)
    const sourceData = { url: 'https://example.com', view: { id: 5 } }
    const { description, rating, sourceId } = sent
    assert.deepEqual(body, { feedback: { id, description, rating, sourceId, sourceData, customerId, projectId } })
  })

  it('leaves out members without a value', async () => {
    const absent: JsonObject[] = [
      {},
      {
        rating: null,
        sourceId: null,
        sourceData: null,
        contactId: null,
        contact: null,
        project: null,
        projectId: null,
      },
    ]
    for (const more of absent) {
      const { body } = await service.submit('/feedbacks', { description: '', ...more })
      assert.deepEqual(Object.keys(body.feedback), ['id', 'description'])
    }
  })

  it('keeps an empty object and a rating of zero', async () => {
    const { body } = await service.submit('/feedbacks', { description: 'x', rating: 0, sourceData: {} })
    assert.deepEqual([body.feedback.rating, body.feedback.sourceData], [0, {}])
  })

  it('has the id of a submission, like the answers of other operations', async () => {
    const createdAt = '2026-01-01T00:00:00Z'
    const bodies: Record<string, JsonObject> = {
      '/feedbacks': { description: 'x' },
      '/contacts/identify': { id: 'c' },
      '/accounts/identify': { id: 'a' },
      '/conversations': { id: 'v', source: 's', createdAt, contacts: [], messages: [] },
      '/contacts/purge': { id: 'c' },
    }
    for (const [path, body] of Object.entries(bodies)) {
      const answer = await service.post(path, body, { token: service.adminToken })
      assert.match(answer.headers.get('submission-id') ?? '', UUID, path)
      if (path !== '/feedbacks') assert.deepEqual(answer.body, { success: true }, path)
    }
  })
})

const CONTACTS = Number(process.env['READ_YOUR_WRITES'] ?? (process.env['TEST_SIZE'] === 'long' ? 10_000 : 150))
const AT_ONCE = 16
const DRAINED_WITHIN_MS = 240_000 + CONTACTS * 60

/** An answered feedback, and the contact in the answer. */
type Given = { id: string; customer: string | undefined; isUnknown: boolean }

describe('the ids of an answer are valid for later requests', () => {
  let own: SharedService
  beforeEach(async () => {
    own = await sharedService()
  })
  afterEach(() => own.stop())

  const accepted = async (path: string, body: object): Promise<Answer> => {
    const answer = await own.post(path, body)
    assert.ok(answer.status === 200 || answer.status === 201, `${path}: ${answer.status} ${answer.text}`)
    return answer
  }

  /**
   * Identifies a contact and refers to it in every way. Every second contact is purged, and half of
   * the purged contacts return.
   */
  const visit = async (index: number): Promise<Given[]> => {
    const given: Given[] = []
    const name = async (body: object, isUnknown = false): Promise<string | undefined> => {
      const { feedback } = (await accepted('/feedbacks', { description: 'x', tags: [], ...body })).body
      given.push({ id: feedback.id, customer: feedback.customerId, isUnknown })
      return feedback.customerId as string | undefined
    }
    // An answer leaves out an id that it cannot determine in time.
    const nameUntilTold = (body: object): Promise<string> => until('an answer has the contact', () => name(body))
    const [id, email] = [`contact-${index}`, `contact-${index}@example.com`]
    const identify = () => accepted('/contacts/identify', { id, properties: { $email: email } })
    const byId = { isExternalContactId: true, contactId: id }
    const anonymous = await nameUntilTold({ contact: { email } })
    await identify()
    await name(byId)
    await name({ contact: { email: ` ${email.toUpperCase()} ` } })
    await name({ contactId: anonymous })
    await name({ contactId: crypto.randomUUID() }, true)
    if (index % 2 !== 0) return given

    const purged = await own.post('/contacts/purge', index % 4 === 0 ? { id } : { email }, { token: own.adminToken })
    assert.equal(purged.status, 200, purged.text)
    // The purge removes the ids of earlier answers.
    given.length = 0
    const again = await own.post('/contacts/purge', { id }, { token: own.adminToken })
    assert.equal(again.status, 404, 'it is already purged')
    await name({ contactId: anonymous }, true)
    const fresh = await nameUntilTold({ contact: { email } })
    assert.notEqual(fresh, anonymous, 'a purged id is never given again')
    if (index % 4 !== 0) return given

    await identify()
    await name(byId)
    await name({ contactId: fresh })
    return given
  }

  const visitAll = async (): Promise<Given[]> => {
    const given: Given[] = []
    let next = 0
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (next < CONTACTS) given.push(...(await visit(next++)))
      }),
    )
    return given
  }

  /** Each id of an answer means the contact of the stored record. */
  const assertHolds = async (given: readonly Given[]): Promise<void> => {
    await until('no submission is queued', async () => (await readLedger(own)).queued === 0, DRAINED_WITHIN_MS)
    const rows = await own.sql<{ id: string; contact: string | null; means: string | null }[]>`
      select f.id, f.contact_id as contact, coalesce(a.contact_id, c.id) as means
      from unnest(${given.map(({ id }) => id)}::uuid[], ${given.map(({ customer }) => customer ?? null)}::uuid[])
        as t (id, customer)
      join feedback as f on f.workspace_id = ${own.workspaceId} and f.id = t.id
      left join contact_alias as a on a.workspace_id = f.workspace_id and a.id = t.customer
      left join contact as c on c.workspace_id = f.workspace_id and c.id = t.customer`
    assert.equal(rows.length, given.length)
    const stored = new Map(rows.map((row) => [row.id, row]))
    for (const { id, customer, isUnknown } of given) {
      const { contact, means } = stored.get(id)!
      assert.equal(contact === null, isUnknown, 'the record has the contact that it names')
      if (customer !== undefined) assert.equal(means, contact, 'the id of the answer')
    }
  }

  it(`while workers run, for ${CONTACTS} contacts`, async () => {
    await assertHolds(await visitAll())
  })

  it('while no submission is applied: an unknown id is left out of the answer, not of the record', async () => {
    await holdWork(own.queues)
    const given: Given[] = []
    try {
      const name = async (body: object): Promise<string | undefined> => {
        const { feedback } = (await accepted('/feedbacks', { description: 'x', tags: [], ...body })).body
        given.push({ id: feedback.id, customer: feedback.customerId, isUnknown: false })
        return feedback.customerId as string | undefined
      }
      const byEmail = await name({ contact: { email: 'held@example.com' } })
      await accepted('/contacts/identify', { id: 'held', properties: { $email: 'held@example.com' } })
      assert.equal(await name({ contact: { email: 'held@example.com' } }), byEmail, 'the id of the email')
      assert.equal(await name({ isExternalContactId: true, contactId: 'held' }), undefined)
      await name({ contactId: byEmail })
    } finally {
      await resumeWork(own.queues)
    }
    await assertHolds(given)
  })

  it('a project can be named by its id at once', async () => {
    await holdWork(own.queues)
    try {
      const first = await accepted('/feedbacks', { description: 'x', project: { name: 'Reports' } })
      const { projectId } = first.body.feedback
      assert.ok(projectId !== undefined)
      await accepted('/feedbacks', { description: 'y', projectId })
    } finally {
      await resumeWork(own.queues)
    }
    await until('no submission is queued', async () => (await readLedger(own)).queued === 0)
    const projects = await own.sql`
      select distinct project_id from feedback where workspace_id = ${own.workspaceId} and project_id is not null`
    const linked = await own.sql`
      select from feedback where workspace_id = ${own.workspaceId} and project_id is not null`
    assert.deepEqual([projects.count, linked.count], [1, 2])
  })
})
