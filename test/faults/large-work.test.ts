import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { hashKeyFrom, idOfEpoch } from '../../contract/identity/own-id.ts'
import { contactSourceKey } from '../../contract/identity/keys.ts'
import { readLedger } from '../support/ledgers.ts'
import { ownWorkspace } from '../support/own-workspace.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const MANY = Number(process.env['RECORDS'] ?? (process.env['TEST_SIZE'] === 'long' ? 100_000 : 3_000))
/** More than a step moves or removes, so that there are several. */
const BATCH = 250
const NEIGHBOURS = 10
const WITHIN_MS = 600_000

type Own = Awaited<ReturnType<typeof ownWorkspace<Service>>>

describe('work that takes many steps', () => {
  let service: Service
  before(async () => {
    service = await startService({ workers: 2 })
  })
  after(() => service?.stop())

  const fill = async (own: Own, email: string): Promise<void> => {
    for (let from = 0; from < MANY; from += BATCH) {
      const items = Array.from({ length: Math.min(BATCH, MANY - from) }, (_, at) => ({
        operation: 'create_feedback',
        body: {
          description: `of ${email}`,
          source: 'desk',
          sourceId: `${email} ${from + at}`,
          tags: [],
          contact: { email },
        },
      }))
      const answer = await until(
        'it is taken in',
        async () => {
          const one = await own.post('/batch', { items })
          return one.status === 200 && one
        },
        WITHIN_MS,
      )
      assert.ok((answer.body.results as { status: number }[]).every(({ status }) => status === 201))
    }
    await until('all is applied', async () => (await readLedger(own)).queued === 0, WITHIN_MS)
  }
  const countOf = async ({ sql, workspaceId }: Own, email: string, contactId: string): Promise<number> => {
    const rows = await sql`
      select from feedback
      where workspace_id = ${workspaceId} and description = ${`of ${email}`} and contact_id = ${contactId}`
    return rows.count
  }
  const realmOf = ({ environment, workspaceId }: Own) => ({
    hashKey: hashKeyFrom(environment['HASH_KEY']!),
    workspaceId,
  })
  const isFinished = async (own: Own, id: string): Promise<boolean> => {
    const rows = await own.sql`select from submission where id = ${id} and state <> 'queued'`
    return rows.count > 0
  }

  it(`a merge of ${MANY} feedback is whole, what comes after it meets the merged contact, and other workspaces are served`, async () => {
    const [own, other] = [await ownWorkspace(service), await ownWorkspace(service)]
    const email = 'merged@example.com'
    await fill(own, email)
    const contact = contactSourceKey(realmOf(own), 'API', 'absorber')
    const identify = await own.post('/contacts/identify', { id: 'absorber', properties: { $email: email } })
    assert.equal(identify.status, 201, identify.text)
    const later = await own.post('/feedbacks', { description: `of ${email}`, tags: [], contact: { email } })
    for (let at = 0; at < NEIGHBOURS; at++)
      await other.submit('/feedbacks', { description: `neighbour ${at}`, tags: [] })
    assert.equal(await own.settled(later), 'applied')
    // Nothing is applied between the steps: what is applied now finds the merge done.
    await own.submit('/feedbacks', { description: `of ${email}`, tags: [], contact: { email } })
    assert.equal(await countOf(own, email, contact), MANY + 2)
    const left = await own.sql`select from pending_move where workspace_id = ${own.workspaceId}`
    assert.equal(left.count, 0)
    const contacts = await own.sql`select from contact where workspace_id = ${own.workspaceId}`
    assert.equal(contacts.count, 1, 'the absorbed contact is gone')
  })

  it(`a purge of ${MANY} feedback removes all of them, while later submissions of its workspace are applied and stay`, async () => {
    const [own, other] = [await ownWorkspace(service), await ownWorkspace(service)]
    const email = 'purged@example.com'
    const person = { id: 'purged', properties: { $email: email } }
    await own.submit('/contacts/identify', person)
    await fill(own, email)
    const purge = await own.post('/contacts/purge', { id: 'purged' }, { token: own.adminToken })
    assert.equal(purge.status, 200, purge.text)
    // These come back as a new contact. One replaces a record that the purge removes.
    await own.submit('/contacts/identify', person)
    const replaced = { source: 'desk', sourceId: `${email} ${MANY - 1}` }
    for (const more of [{}, replaced])
      await own.submit('/feedbacks', { description: `of ${email}`, tags: [], contact: { email }, ...more })
    for (let at = 0; at < NEIGHBOURS; at++)
      await other.submit('/feedbacks', { description: `neighbour ${at}`, tags: [] })
    await until('the purge is finished', () => isFinished(own, purge.headers.get('Submission-Id')!), WITHIN_MS)
    const fresh = idOfEpoch(contactSourceKey(realmOf(own), 'API', 'purged'), 1)
    const rows = await own.sql<{ contact: string }[]>`
      select contact_id as contact from feedback where workspace_id = ${own.workspaceId}`
    assert.deepEqual(
      rows.map(({ contact }) => contact),
      [fresh, fresh],
    )
    const receipt = await own.request(`/api/v1/submissions/${purge.headers.get('Submission-Id')}`, undefined, {
      method: 'GET',
    })
    const { state, counts } = receipt.body.submission
    assert.equal(state, 'applied')
    assert.equal(counts.contacts, 1)
    assert.ok(counts.feedback === MANY || counts.feedback === MANY - 1, `${counts.feedback} removed`)
    const { difference, queued } = await readLedger(own)
    assert.deepEqual({ difference, queued }, { difference: 0, queued: 0 })
  })
})
