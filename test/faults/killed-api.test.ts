import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { createLog } from '../../queue/log.ts'
import { losingAnswers, type LosingAnswers } from '../support/losing-answers.ts'
import { readLedger } from '../support/ledgers.ts'
import { testServers } from '../support/servers.ts'
import { type Service, startService } from '../support/service.ts'
import { type ServiceProcess, startProcess } from '../support/service-process.ts'
import { until } from '../support/until.ts'

const KILLS = Number(process.env['KILLS'] ?? (process.env['TEST_SIZE'] === 'long' ? 200 : 10))
const MOST_TOGETHER = 4
const APPLIED_WITHIN_MS = 120_000
type Sent = { path: string; body: object; key: string }

/** One of each kind, all about one contact. */
const submissions = (name: string): Sent[] => {
  const contact = { id: name, properties: { $email: `${name}@example.com` } }
  const createdAt = '2026-01-01T00:00:00Z'
  const messages = [{ id: 'm', incoming: true, contactId: name, content: name, createdAt }]
  return [
    { path: '/feedbacks', body: { description: name, contact: { email: `${name}@example.com` } } },
    { path: '/contacts/identify', body: contact },
    { path: '/accounts/identify', body: { id: name, properties: { $name: name, $domain: `${name}.example` } } },
    { path: '/conversations', body: { id: name, source: 'chat', createdAt, contacts: [contact], messages } },
  ].map((sent) => ({ ...sent, key: randomUUID() }))
}

describe(`an API that is killed ${KILLS} times after an admission, before it wakes a worker`, () => {
  let service: Service
  let between: LosingAnswers
  before(async () => {
    // The workers, and the API that this begins with, reach Redis directly.
    service = await startService({ environment: { CONVERSATIONS_PER_MINUTE: '1000000' } })
    between = await losingAnswers(testServers().redisUrl)
  })
  after(async () => {
    between.stop()
    await service.stop()
  })

  const submit = async (api: ServiceProcess, { path, body, key }: Sent): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${api.port}/api/v1${path}`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${service.accessToken}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': key,
      },
      body: JSON.stringify(body),
    })
    const text = await answer.text()
    assert.ok(answer.status === 200 || answer.status === 201, text)
    return answer.headers.get('Submission-Id')!
  }
  const startApi = () => startProcess('api/main.ts', 'listening', { ...service.environment, REDIS_URL: between.url })
  const areApplied = async (ids: readonly string[]): Promise<boolean> => {
    const found = await service.sql`select from submission where id = any (${ids}) and state = 'applied'`
    return found.count === ids.length
  }
  /** The submissions of the log and those with a receipt. */
  const admittedIds = async (): Promise<string[]> => {
    const { redis, redisPrefix, workspaceId, sql } = service
    const inLog = await Array.fromAsync(createLog(redis, redisPrefix).readWaiting(workspaceId))
    const receipts = await sql<{ id: string }[]>`select id from submission`
    return [...new Set([...inLog.map(({ submissionId }) => submissionId), ...receipts.map(({ id }) => id)])]
  }

  /** Submits through an API that is killed once Redis has admitted some of it. Returns the ids of what was admitted. */
  const killAt = async (api: ServiceProcess, sent: readonly Sent[], name: string): Promise<string[]> => {
    const known = new Set(await admittedIds())
    const { accepted } = await readLedger(service)
    // The name stands in the bodies, and only an admission sends these to Redis.
    const silence = between.loseAnswersFrom(name)
    const answers = Promise.allSettled(sent.map((one) => submit(api, one)))
    await silence
    await until('Redis has admitted something', async () => (await readLedger(service)).accepted > accepted)
    await api.kill()
    between.passAnswers()
    assert.ok((await answers).every(({ status }) => status === 'rejected'))
    const left = (await admittedIds()).filter((id) => !known.has(id))
    assert.equal((await readLedger(service)).accepted - accepted, left.length)
    return left
  }

  it('loses nothing: it is applied without a wake, and a repetition gets the answer that the first request did not', async () => {
    const answered = new Map<string, Sent>()
    const times: Promise<number>[] = []
    let admitted = 0
    let api = await startApi()
    for (let kill = 0; kill < KILLS; kill++) {
      // The first is alone in its entry; others come while its call is under way.
      const sent = submissions(`kill-${kill}-`).slice(0, 1 + (kill % MOST_TOGETHER))
      const left = await killAt(api, sent, `kill-${kill}-`)
      const killedAt = performance.now()
      admitted += left.length
      const applied = until(`what kill ${kill} left is applied`, () => areApplied(left), APPLIED_WITHIN_MS)
      times.push(applied.then(() => performance.now() - killedAt))
      times.at(-1)!.catch(() => {})
      api = await startApi()
      // Every second repetition comes as early as it can, the others when the first one is applied.
      if (kill % 2 === 0) await applied
      const ids = await Promise.all(sent.map((one) => submit(api, one)))
      for (const id of left) assert.ok(ids.includes(id), 'a repetition is no submission of its own')
      for (const [at, id] of ids.entries()) answered.set(id, sent[at]!)
    }
    const slowestMs = Math.max(...(await Promise.all(times)))
    console.log(`${admitted} admitted by an API that was killed; each applied within ${Math.round(slowestMs)} ms`)
    await until('all is applied', () => areApplied([...answered.keys()]))
    for (const [id, sent] of answered) assert.equal(await submit(api, sent), id, 'the first answer')
    await until('all is settled', async () => (await readLedger(service)).queued === 0)
    const { accepted, difference, dead } = await readLedger(service)
    assert.deepEqual({ accepted, difference, dead }, { accepted: answered.size, difference: 0, dead: 0 })
    await api.stop()
  })
})
