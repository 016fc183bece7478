import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { hashKeyFrom, idOfEpoch } from '../../contract/identity/own-id.ts'
import { contactSourceKey } from '../../contract/identity/keys.ts'
import { readLedger } from '../support/ledgers.ts'
import { ownWorkspace } from '../support/own-workspace.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const MANY = Number(process.env['RECORDS'] ?? (process.env['TEST_SIZE'] === 'long' ? 100_000 : 2_000))
/** More records than a step moves or removes, so that several steps are needed. */
const BATCH = 250
const NEIGHBOURS = 10
const WITHIN_MS = 600_000
const EMAIL = 'ada@example.com'
const PERSON = { id: 'ada', properties: { $email: EMAIL } }

describe('work that takes many steps', () => {
  let service: Service
  let own: Service
  let other: Service
  before(async () => {
    service = await startService({ workers: 2 })
    own = await ownWorkspace(service)
    other = await ownWorkspace(service)
  })
  after(() => service?.stop())

  const say = (more: object = {}) =>
    own.post('/feedbacks', { description: 'x', tags: [], contact: { email: EMAIL }, ...more })
  const recordOf = (at: number): object => ({ source: 'desk', sourceId: `record ${at}` })
  const fill = async (): Promise<void> => {
    for (let from = 0; from < MANY; from += BATCH) {
      const items = Array.from({ length: Math.min(BATCH, MANY - from) }, (_, at) => ({
        operation: 'create_feedback',
        body: { description: 'x', tags: [], contact: { email: EMAIL }, ...recordOf(from + at) },
      }))
      const isTakenIn = async () => (await own.post('/batch', { items })).status === 200
      await until('the submission is accepted', isTakenIn, WITHIN_MS)
    }
    await until('all submissions are applied', async () => (await readLedger(own)).queued === 0, WITHIN_MS)
  }
  const serveNeighbours = async (): Promise<void> => {
    for (let at = 0; at < NEIGHBOURS; at++)
      await other.submit('/feedbacks', { description: `neighbour ${at}`, tags: [] })
  }
  const contactIds = async (): Promise<string[]> => {
    const rows = await own.sql<{ id: string }[]>`
      select contact_id as id from feedback where workspace_id = ${own.workspaceId}`
    return rows.map(({ id }) => id)
  }
  const idOf = (epoch: number): string => {
    const realm = { hashKey: hashKeyFrom(own.environment['HASH_KEY']!), workspaceId: own.workspaceId }
    return idOfEpoch(contactSourceKey(realm, 'API', PERSON.id), epoch)
  }

  it(`a merge of ${MANY} feedback is complete before later submissions, while other workspaces are served`, async () => {
    await fill()
    const identify = await own.post('/contacts/identify', PERSON)
    assert.equal(identify.status, 201, identify.text)
    const later = await say()
    await serveNeighbours()
    assert.equal(await own.settled(later), 'applied')
    // No submission of the workspace is applied between the steps, so a later one finds the
    // complete merge.
    assert.deepEqual(
      await contactIds(),
      Array.from({ length: MANY + 1 }, () => idOf(0)),
    )
    const left = await own.sql`select from pending_move where workspace_id = ${own.workspaceId}`
    assert.equal(left.count, 0)
    const contacts = await own.sql`select from contact where workspace_id = ${own.workspaceId}`
    assert.equal(contacts.count, 1, 'the absorbed contact is gone')
  })

  it('a purge of them removes all, while later submissions of the workspace are applied and stay', async () => {
    const purge = await own.post('/contacts/purge', { id: PERSON.id }, { token: own.adminToken })
    assert.equal(purge.status, 200, purge.text)
    // These submissions create a new contact. One replaces a record that the purge removes.
    await own.submit('/contacts/identify', PERSON)
    for (const answer of [await say(), await say(recordOf(MANY - 1))])
      assert.equal(await own.settled(answer), 'applied')
    await serveNeighbours()
    assert.equal(await until('the purge is finished', () => own.settled(purge), WITHIN_MS), 'applied')
    assert.deepEqual(await contactIds(), [idOf(1), idOf(1)])
    const path = `/api/v1/submissions/${purge.headers.get('Submission-Id')}`
    const { counts } = (await own.request(path, undefined, { method: 'GET' })).body.submission
    assert.equal(counts.contacts, 1)
    assert.ok(counts.feedback === MANY + 1 || counts.feedback === MANY, `${counts.feedback} removed`)
    const { difference, queued } = await readLedger(own)
    assert.deepEqual({ difference, queued }, { difference: 0, queued: 0 })
  })
})
