import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { after, before, beforeEach, describe, it } from 'node:test'
import * as v from 'valibot'
import { createResolveReferences, type ResolveReferences } from '../../api/resolve-references.ts'
import { createAwaitProgress } from '../../api/submit/await-progress.ts'
import { feedbackRecord } from '../../contract/feedback-record.ts'
import {
  contactIdKey,
  emailKey,
  hashKeyFrom,
  idOfEpoch,
  projectKey,
  recordContactKey,
} from '../../contract/identity/keys.ts'
import { findProgress } from '../../db/submissions/receipts.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'
import { until } from '../support/until.ts'

const TIMEOUT_MS = 500
const CONNECTIONS = 2
const hashKey = hashKeyFrom('0'.repeat(64))
const EMPTY = { isLogEmpty: true, isIdentifyWaiting: false, isPurgeWaiting: false, hadPurges: false }
const WAITING = { isLogEmpty: false, isIdentifyWaiting: true, isPurgeWaiting: false, hadPurges: false }
const FEEDBACK_WAITING = { ...WAITING, isIdentifyWaiting: false }
const PURGE_WAITING = { isLogEmpty: false, isIdentifyWaiting: false, isPurgeWaiting: true, hadPurges: true }
const EMAIL = 'ann@example.org'
const ANN = randomUUID()
const BOB = randomUUID()
const NUMBER = 1_000

describe('the references of an answer', () => {
  let schema: TestSchema
  let workspaceId: string
  let resolve: ResolveReferences
  before(async () => {
    schema = await freshSchema(CONNECTIONS)
  })
  after(() => schema.drop())
  beforeEach(() => {
    workspaceId = randomUUID()
    const find = (submissions: readonly { workspaceId: string; id: string }[]) => findProgress(schema.sql, submissions)
    const awaitProgress = createAwaitProgress(find, {
      now: () => performance.now(),
      stop: new AbortController().signal,
      hurry: () => {},
    })
    resolve = createResolveReferences({ sql: schema.sql, timeoutMs: TIMEOUT_MS, awaitProgress })
  })

  const contact = (id: string) =>
    schema.sql`insert into contact (workspace_id, id, first_number, number, change_position)
      values (${workspaceId}, ${id}, 1, 1, 1)`
  const externalId = (id: string, contactId: string, { source = 'API', number = 1 } = {}) => schema.sql`
    insert into contact_external_id (workspace_id, key_id, source, external_id, contact_id, number)
    values (${workspaceId}, ${contactIdKey({ hashKey, workspaceId }, id)}, ${source}, ${id}, ${contactId}, ${number})`
  const email = (contactId: string, { number = 1, claimed = true } = {}) => schema.sql`
    insert into contact_email (workspace_id, email, contact_id, number, claimed)
    values (${workspaceId}, ${EMAIL}, ${contactId}, ${number}, ${claimed})`
  const project = (id: string) =>
    schema.sql`insert into project (workspace_id, id, name, first_number, change_position) values (${workspaceId}, ${id}, 'p', 1, 1)`
  const purged = (key: string) =>
    schema.sql`insert into purged_key (workspace_id, key_id, epoch, number) values (${workspaceId}, ${key}, 2, 1)`
  const applied = async (id: string, contactId: string | null) => {
    await schema.sql`
      insert into feedback (workspace_id, id, description, tags_generated, source, contact_id, number, first_number,
        change_position)
      values (${workspaceId}, ${id}, 'x', false, 'API', ${contactId}, ${NUMBER}, ${NUMBER}, 1)`
    await schema.sql`
      insert into submission (workspace_id, id, acceptance_number, operation, state, attempts)
      values (${workspaceId}, ${id}, ${NUMBER}, 'create_feedback', 'applied', 1)`
  }
  const ask = (named: object, log = EMPTY, feedbackId: string = randomUUID()) =>
    resolve({
      realm: { hashKey, workspaceId },
      submissionId: feedbackId,
      number: NUMBER,
      feedbackId,
      record: v.parse(feedbackRecord, { description: 'x', ...named }),
      log,
    })
  const contactOf = async (named: object, log = EMPTY, feedbackId?: string) =>
    (await ask(named, log, feedbackId)).contactId
  const keyOfEmail = () => emailKey({ hashKey, workspaceId }, EMAIL)

  it('are null where the feedback names nothing', async () => {
    assert.deepEqual(await ask({}), { contactId: null, projectId: null })
  })

  it('find a contact by its own id or by an alias', async () => {
    const alias = randomUUID()
    await contact(ANN)
    await schema.sql`insert into contact_alias (workspace_id, id, contact_id) values (${workspaceId}, ${alias}, ${ANN})`
    for (const id of [ANN, ANN.toUpperCase(), alias]) assert.equal(await contactOf({ contactId: id }), ANN)
    assert.equal(await contactOf({ contactId: randomUUID() }), null)
    assert.equal(await contactOf({ contactId: 'no id' }), null)
  })

  it('find a contact by its external id: in the source of the feedback, else by the oldest match', async () => {
    await externalId('a', ANN, { source: 'crm', number: 1 })
    await externalId('a', BOB, { source: 'shop', number: 2 })
    const named = { contactId: 'a', isExternalContactId: true }
    assert.equal(await contactOf(named), ANN)
    assert.equal(await contactOf({ ...named, source: 'shop' }), BOB)
    assert.equal(await contactOf({ contactId: 'gone', contact: { id: 'a' }, isExternalContactId: true }), ANN)
  })

  it('find a contact by the latest claim of its email', async () => {
    await email(ANN, { number: 2 })
    await email(BOB, { number: 3 })
    assert.equal(await contactOf({ contact: { email: ' Ann@Example.org' } }), BOB)
  })

  it('are the own id of the email in its present epoch if no contact is stored', async () => {
    assert.equal(await contactOf({ contact: { email: EMAIL, name: 'Ann' } }), keyOfEmail())
    await purged(keyOfEmail())
    assert.equal(await contactOf({ contact: { email: EMAIL } }), idOfEpoch(keyOfEmail(), 2))
  })

  it('follow from the feedback and from the name for a contact and a project with names alone', async () => {
    const id = randomUUID()
    const realm = { hashKey, workspaceId }
    const expected = { contactId: recordContactKey(realm, id), projectId: projectKey(realm, 'Next year') }
    const named = { contact: { name: 'Ann' }, project: { name: 'Next year' } }
    assert.deepEqual(await ask(named, PURGE_WAITING, id), expected)
    // Ids count first, and need a look-up.
    await contact(ANN)
    const [byContactId, byProjectId] = [{ contactId: ANN }, { projectId: randomUUID() }]
    assert.deepEqual(await ask({ ...named, ...byContactId, ...byProjectId }, EMPTY, id), {
      ...expected,
      contactId: ANN,
    })
    assert.deepEqual(await ask({ ...named, contactId: randomUUID() }, EMPTY, id), expected)
    // Each statement fails.
    const sql = undefined as unknown as TestSchema['sql']
    resolve = createResolveReferences({ sql, timeoutMs: TIMEOUT_MS, awaitProgress: () => assert.fail('waited') })
    assert.deepEqual(await ask(named, WAITING, id), expected)
    assert.deepEqual(await ask({ ...named, ...byContactId }, EMPTY, id), { ...expected, contactId: null })
    assert.deepEqual(await ask({ ...named, ...byProjectId }, EMPTY, id), { ...expected, projectId: null })
  })

  it('find a project by its own id or by its name', async () => {
    const id = randomUUID()
    await project(id)
    const named = projectKey({ hashKey, workspaceId }, 'Next year')
    assert.equal((await ask({ projectId: id, project: { name: 'Next year' } })).projectId, id)
    assert.equal((await ask({ projectId: randomUUID(), project: { name: ' Next  year' } })).projectId, named)
    assert.equal((await ask({ project: { name: 'Next year' } }, WAITING)).projectId, named)
  })

  it('do not wait if no queued submission can change them', async () => {
    await contact(ANN)
    await externalId('a', ANN)
    await email(BOB, { claimed: false })
    assert.equal(await contactOf({ contactId: ANN }, WAITING), ANN)
    assert.equal(await contactOf({ contactId: 'a', isExternalContactId: true }, WAITING), ANN)
    assert.equal(await contactOf({ contact: { email: EMAIL } }, WAITING), BOB)
  })

  it('do not wait for feedback that cannot change them', async () => {
    await externalId('a', ANN, { source: 'crm' })
    await email(BOB)
    const named = { contactId: 'a', isExternalContactId: true, source: 'shop' }
    assert.equal(await contactOf(named, FEEDBACK_WAITING), ANN)
    assert.equal(await contactOf({ contact: { email: EMAIL } }, FEEDBACK_WAITING), BOB)
  })

  const UNSURE: readonly (readonly [string, object, typeof WAITING])[] = [
    ['an own id that is not stored', { contactId: randomUUID() }, WAITING],
    ['an external id that is not stored', { contactId: 'b', isExternalContactId: true }, WAITING],
    ['an external id of another source', { contactId: 'a', isExternalContactId: true, source: 'shop' }, WAITING],
    ['an email that an identify has claimed', { contact: { email: EMAIL } }, WAITING],
    ['an email while a purge waits', { contact: { email: 'other@example.org' } }, PURGE_WAITING],
  ]
  for (const [what, named, log] of UNSURE) {
    it(`are read from the applied feedback, or left out: ${what}`, async () => {
      await externalId('a', ANN)
      await email(ANN)
      assert.equal(await contactOf(named, log), null)
      const id = randomUUID()
      await applied(id, BOB)
      assert.equal(await contactOf(named, log, id), BOB)
    })
  }

  it('ignore the records of later submissions', async () => {
    const id = randomUUID()
    await email(ANN, { number: NUMBER + 1 })
    await externalId('a', ANN, { source: 'API', number: NUMBER + 1 })
    await applied(id, null)
    assert.equal(await contactOf({ contact: { email: EMAIL } }, EMPTY, id), null)
    assert.equal(await contactOf({ contactId: 'a', isExternalContactId: true }, EMPTY, id), null)
  })

  it('have the project even if the contact cannot be determined', async () => {
    const id = randomUUID()
    await project(id)
    const { contactId, projectId } = await ask({ contactId: randomUUID(), projectId: id }, WAITING)
    assert.deepEqual([contactId, projectId], [null, id])
  })

  it('are complete again soon after one of several connections hangs', async () => {
    await email(ANN)
    const isWhole = async (): Promise<boolean> => (await contactOf({ contact: { email: EMAIL } })) === ANN
    assert.ok(await isWhole())
    const [backend] = await schema.sql<[{ pid: number }]>`select pg_backend_pid() as pid`
    process.kill(backend.pid, 'SIGSTOP')
    try {
      await until('an answer has met the hanging connection', async () => !(await isWhole()))
      await until('answers are complete again', isWhole)
      for (let asked = 0; asked < 2 * CONNECTIONS; asked++) assert.ok(await isWhole())
    } finally {
      process.kill(backend.pid, 'SIGCONT')
    }
  })
})
