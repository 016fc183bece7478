import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as v from 'valibot'
import { feedbackRecord } from '../../contract/feedback-record.ts'
import { JOB_VERSION } from '../../contract/job.ts'
import { answerReferences } from '../../contract/identity/reference.ts'
import { feedbackSource } from '../../contract/stored-feedback.ts'
import { referenceResolver } from '../../api/reference-resolver.ts'
import type { Question } from '../../contract/identity/meaning.ts'
import { store } from '../../db/store.ts'
import { hashKey, toRows } from '../support/deliveries.ts'
import { freshSchema, type TestSchema } from '../support/schema.ts'
import { until } from '../support/until.ts'

const TIMEOUT_MS = 500
const CONNECTIONS = 2
const EMAIL = 'ann@example.org'

describe('whom a feedback means', () => {
  const workspaceId = randomUUID()
  let schema: TestSchema
  before(async () => {
    schema = await freshSchema(CONNECTIONS)
    const identified = toRows({
      version: JOB_VERSION,
      operation: 'identify_contact',
      workspaceId,
      submissionId: randomUUID(),
      number: 1,
      body: { id: 'ann', properties: { $email: EMAIL } },
    })
    await store(schema.sql, [identified])
  })
  after(() => schema.drop())

  const questionOf = (named: object): Question => {
    const record = v.parse(feedbackRecord, { description: 'x', ...named })
    return {
      workspaceId,
      number: 2,
      source: feedbackSource(record),
      references: answerReferences({ hashKey, workspaceId, number: 0, recordId: randomUUID() }, record),
      queued: new Map(),
      purgesQueued: false,
    }
  }
  const resolver = () =>
    referenceResolver(
      {
        sql: schema.sql,
        lookUpQueued: async () => new Map(),
        findAlias: async () => null,
        keepAlias: async () => {},
      },
      TIMEOUT_MS,
    )
  /** Of one of the connections: the process of the server that answers it. */
  const anyBackend = async (): Promise<number> =>
    (await schema.sql`select pg_backend_pid() as pid`)[0]!['pid'] as number

  for (const [named, body] of [
    ['an email', { contact: { email: EMAIL } }],
    ['an external id', { contactId: 'ann', isExternalContactId: true }],
  ] as const) {
    it(`is found by ${named}, and again soon after one connection of several has come to hang`, async () => {
      const resolve = resolver()
      const ask = async (): Promise<string | null> => (await resolve(questionOf(body))).contact
      const whole = await ask()
      const hanging = await anyBackend()
      process.kill(hanging, 'SIGSTOP')
      try {
        await until('an answer has met the connection that hangs', async () => (await ask()) !== whole)
        await until('answers are whole again', async () => (await ask()) === whole)
        for (let asked = 0; asked < 2 * CONNECTIONS; asked++) assert.equal(await ask(), whole)
      } finally {
        process.kill(hanging, 'SIGCONT')
      }
    })
  }

  it('is found also when it is asked together with what cannot be asked', async () => {
    const resolve = resolver()
    const good = questionOf({ contactId: 'ann', isExternalContactId: true })
    const bad = { ...good, references: { contact: { ids: ['no id'], own: false }, project: null } }
    const whole = await resolve(good)
    assert.notEqual(whole.contact, null)
    const nothing = { contact: null, project: null }
    assert.deepEqual(await Promise.all([resolve(bad), resolve(good)]), [nothing, whole])
  })
})
