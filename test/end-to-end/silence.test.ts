import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Job } from 'bullmq'
import { feedbackBody, injectDead } from '../support/inject.ts'
import { runCommand } from '../support/command.ts'
import { type Answer, type RequestOptions, submissionIdOf } from '../support/service.ts'
import { operatedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

/** Only this test sends this word. */
const CANARY = `canary${randomBytes(6).toString('hex')}`
const STATES = ['waiting', 'active', 'delayed', 'completed', 'failed'] as const

const service = await operatedService()

describe('submitted content', () => {
  const answers: { what: string; answer: Answer }[] = []

  const ask = async (path: string, body: unknown, options: RequestOptions = {}): Promise<Answer> => {
    const answer = await service.request(path, body, options)
    answers.push({ what: `${options.method ?? 'POST'} ${path}`.replaceAll(CANARY, '…'), answer })
    return answer
  }
  const get = (path: string, token?: string) =>
    ask(path, undefined, { method: 'GET', ...(token !== undefined && { token }) })
  const message = { id: 'm', incoming: true, content: CANARY, createdAt: '2026-01-01T00:00:00Z', contactId: CANARY }
  const person = { id: CANARY, source: CANARY, properties: { $email: `${CANARY}@example.com`, $name: CANARY } }
  const VALID: Readonly<Record<string, object>> = {
    '/api/v1/contacts/identify': person,
    '/api/v1/accounts/identify': { id: CANARY, properties: { $name: CANARY, $domain: `${CANARY}.example` } },
    '/api/v1/feedbacks': {
      description: CANARY,
      title: CANARY,
      source: CANARY,
      sourceId: CANARY,
      sourceData: { [CANARY]: CANARY },
      contact: { email: `${CANARY}@example.com`, name: CANARY },
      project: { name: CANARY },
    },
    '/api/v1/conversations': {
      id: CANARY,
      source: CANARY,
      title: CANARY,
      createdAt: '2026-01-01T00:00:00Z',
      properties: { [CANARY]: CANARY },
      contacts: [person],
      messages: [message],
    },
  }

  it('is in no refusal', async () => {
    for (const [path, body] of Object.entries(VALID)) {
      const wrong = Object.fromEntries(Object.keys(body).map((key) => [key, [CANARY]]))
      const nested = Object.fromEntries(
        Object.keys(body).map((key) => [key, { [CANARY]: CANARY, id: 7, name: [CANARY] }]),
      )
      const long = Object.fromEntries(Object.keys(body).map((key) => [key, CANARY.repeat(100)]))
      const bodies = [
        wrong,
        nested,
        long,
        CANARY,
        `{"${CANARY}": ${CANARY}}`,
        `["${CANARY}"`,
        [CANARY],
        `${CANARY}\u0000`,
      ]
      for (const bad of bodies) assert.equal((await ask(path, bad)).status, 400, JSON.stringify(bad).slice(0, 99))
      const types = { 'Content-Type': CANARY }
      assert.equal((await ask(path, body, { headers: types })).status, 415)
      assert.equal((await ask(path, gzipSync(CANARY), { headers: { 'Content-Encoding': 'gzip' } })).status, 400)
      assert.equal((await ask(path, CANARY, { headers: { 'Content-Encoding': 'gzip' } })).status, 400)
      assert.equal((await ask(path, body, { token: `${CANARY}-and-more` })).status, 401)
      assert.equal((await ask(path, body, { method: 'PUT' })).status, 405)
      const key = { 'Idempotency-Key': CANARY }
      assert.ok((await service.request(path, body, { headers: key })).status < 300)
      assert.equal((await ask(path, { ...body, rating: 1, id: `${CANARY}2` }, { headers: key })).status, 422)
    }
    assert.equal((await ask('/api/v1/contacts/purge', { id: CANARY })).status, 403)
    const unknown = { id: `${CANARY}3`, email: `${CANARY}3@example.com` }
    assert.equal((await ask('/api/v1/contacts/purge', unknown, { token: service.adminToken })).status, 404)
    for (const path of [`/${CANARY}`, `/api/v1/${CANARY}`, `/api/v1/submissions/${CANARY}`, `/docs/${CANARY}`]) {
      assert.equal((await get(path)).status, 404, path)
    }
    await get(`/admin/queues/${CANARY}`, service.adminToken)
    await get(`/metrics?${CANARY}`, CANARY)
    for (const { what, answer } of answers) {
      const { status, headers, text } = answer
      const whole = JSON.stringify([...headers]) + text
      assert.ok(status >= 400 && !whole.toLowerCase().includes(CANARY), `${what}: ${status} ${whole}`)
    }
  })

  it('is in no failure reason, log, metric, receipt or event, even if it cannot be stored', async () => {
    const ids: string[] = []
    for (const [path, body] of Object.entries(VALID)) {
      ids.push(submissionIdOf(await service.submit(path.replace('/api/v1', ''), body)))
    }
    const body = feedbackBody(`${CANARY} \u0000`, { sourceData: { [CANARY]: '\u0000' } })
    ids.push(await injectDead(service, service.queues, { body }))
    const listed = await runCommand(service, 'cli/dead/dead-command.ts', 'list')
    const replayed = await runCommand(service, 'cli/dead/dead-command.ts', 'replay', 'all')
    assert.deepEqual([listed.code, replayed.code], [0, 0])
    await service.queues.wake.add('foreign', { [CANARY]: CANARY }, { jobId: 'foreign' })
    // A passing fault that quotes the row.
    await service.sql`
      create function quote() returns trigger language plpgsql as $$
      begin raise exception 'cannot keep %', new using detail = new::text, hint = new::text; end $$`
    await service.sql`create trigger quoting before insert on project for each row execute function quote()`
    const failing = await service.post('/feedbacks', { description: CANARY, project: { name: `${CANARY} 2` } })
    ids.push(submissionIdOf(failing))
    await until('the fault is logged', () => Promise.resolve(service.output().includes('P0001')))
    const jobs = await until('a job has failed', async () => {
      const found = await listJobs()
      return found.some(({ failedReason }) => failedReason) && found
    })
    await service.sql`drop function quote cascade`
    assert.equal(await service.settled(failing), 'applied')
    const receipts = await Promise.all(ids.map((id) => get(`/api/v1/submissions/${id}`)))
    assert.ok(receipts.every(({ status }) => status === 200))
    const streams = await Promise.all(
      Object.values(service.queues).map(async (queue) => service.redis.xrange(queue.toKey('events'), '-', '+')),
    )
    const places: Readonly<Record<string, string>> = {
      receipts: receipts.map(({ text }) => text).join('\n'),
      metrics: (await get('/metrics', service.adminToken)).text,
      'metrics of workers': await (await fetch(`${service.workerUrls[0]}/metrics`)).text(),
      reasons: JSON.stringify(
        jobs.map(({ failedReason, stacktrace, returnvalue }) => [failedReason, stacktrace, returnvalue as unknown]),
      ),
      events: JSON.stringify(streams),
      'the list of the dead': listed.stdout + listed.stderr + replayed.stdout + replayed.stderr,
      logs: service.output(),
      'stored reasons': JSON.stringify(await service.sql`select error, counts, identifiers from submission`),
    }
    for (const [place, text] of Object.entries(places)) {
      assert.ok(text.length > 0, place)
      const at = text.toLowerCase().indexOf(CANARY)
      assert.equal(at, -1, `${place}: ${text.slice(Math.max(0, at - 200), at + 200)}`)
    }
    // Other files may expect a service without dead submissions and failed jobs.
    const dropDead = async () => (await service.sql`delete from dead_submission where replayed_at is null`).count === 1
    await until('the replayed submission is dead again', dropDead)
    await service.queues.wake.clean(0, 0, 'failed')
  })

  const listJobs = async (): Promise<Job[]> =>
    (await Promise.all(Object.values(service.queues).map((queue) => queue.getJobs([...STATES])))).flat() as Job[]
})
