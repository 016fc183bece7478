import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { feedbackBody, inject } from '../support/inject.ts'
import { readLedgers } from '../support/ledgers.ts'
import { seeded } from '../support/property-seed.ts'
import { type Service, startService } from '../support/service.ts'
import { type ServiceProcess, startProcess } from '../support/service-process.ts'
import { findTraces } from '../support/traces.ts'
import { until } from '../support/until.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
const CONTACTS = Number(process.env['CANARIES'] ?? (LONG ? 3_000 : 30))
const ROUNDS = 3
const AT_ONCE = 8
const WORKERS = 2
/** This word is in all submissions about a purged contact, and in no others. */
const MARK = `canary${randomBytes(4).toString('hex')}`
const KEPT = 'a-contact-that-stays'

/** The submissions of one contact before its purge. */
const scenarios = fc.record({
  source: fc.option(fc.constantFrom('crm', 'desk'), { nil: undefined }),
  steps: fc.array(
    fc.constantFrom('identify', 'by-email', 'by-id', 'unknown', 'replaced', 'alone', 'shared', 'dead', 'keyed'),
    { minLength: 1, maxLength: 6 },
  ),
  by: fc.constantFrom('id', 'email', 'both'),
  /** `later`: after all submissions of the round. */
  purged: fc.constantFrom('at-once', 'later'),
})
type Scenario = typeof scenarios extends fc.Arbitrary<infer T> ? T : never

describe('a purged contact', () => {
  let service: Service
  const workers: ServiceProcess[] = []
  const outputs: (() => string)[] = []
  const startWorker = async (): Promise<void> => {
    const worker = await startProcess('worker/main.ts', 'working', { ...service.environment })
    outputs.push(worker.output)
    workers.push(worker)
  }
  before(async () => {
    service = await startService({ workers: 0, environment: { CONVERSATIONS_PER_MINUTE: '1000000' } })
    for (let started = 0; started < WORKERS; started++) await startWorker()
  })
  after(async () => {
    await Promise.all(workers.map((worker) => worker.stop()))
    await service.stop()
  })

  const accepted = async (path: string, body: object, headers: Record<string, string> = {}): Promise<void> => {
    const answer = await service.post(path, body, { headers })
    assert.ok(answer.status === 200 || answer.status === 201, `${path}: ${answer.status} ${answer.text}`)
  }

  const submitAll = async (mark: string, { source, steps }: Scenario): Promise<void> => {
    const [id, email] = [`${mark}-id`, `${mark}@example.com`]
    const properties = { $email: email, $name: mark, [mark]: { [mark]: mark } }
    const contact = { id, ...(source && { source }), properties }
    const createdAt = '2026-01-01T00:00:00Z'
    const message = { incoming: true, content: mark, createdAt, properties: { [mark]: mark }, sourceUrl: mark }
    const conversation = { source: 'chat', createdAt, properties: {} }
    await accepted('/contacts/identify', contact)
    const texts = { description: `${mark} dark mode`, title: mark, sourceData: { [mark]: mark } }
    const byEmail = { ...texts, contact: { email, name: mark, sourceData: { [mark]: mark } } }
    const other = { ...message, id: 'other', contactId: KEPT, content: 'Hello', properties: {}, sourceUrl: null }
    const own = { ...message, id: mark, contactId: id }
    const recorded = { ...byEmail, sourceId: `${mark}-record` }
    const submitStep: Readonly<Record<Scenario['steps'][number], (place: number) => Promise<void>>> = {
      identify: () => accepted('/contacts/identify', { ...contact, properties: { ...properties, again: mark } }),
      'by-email': () => accepted('/feedbacks', { ...byEmail, tags: [mark] }),
      'by-id': () => accepted('/feedbacks', { ...texts, isExternalContactId: true, contactId: id }),
      unknown: () => accepted('/feedbacks', { ...byEmail, isExternalContactId: true, contactId: `${mark}-no` }),
      replaced: async () => {
        for (const more of ['', ' once more'])
          await accepted('/feedbacks', { ...recorded, description: `${mark}${more}` })
      },
      alone: (place) => {
        const base = { ...conversation, id: `${mark}-${place}`, title: mark }
        return accepted('/conversations', { ...base, contacts: [contact], messages: [own] })
      },
      shared: (place) => {
        const base = { ...conversation, id: `shared-${place}-${steps.length}` }
        return accepted('/conversations', { ...base, contacts: [contact, { id: KEPT }], messages: [own, other] })
      },
      // Postgres refuses U+0000, so this submission becomes dead.
      dead: async () =>
        void (await inject(service, service.queues, { body: feedbackBody(`${mark} \u0000`, { contact: { email } }) })),
      keyed: () => accepted('/feedbacks', byEmail, { 'Idempotency-Key': mark }),
    }
    for (const [place, step] of steps.entries()) await submitStep[step](place)
  }

  const purge = async (mark: string, { by, source }: Scenario): Promise<void> => {
    const body = {
      ...(by !== 'email' && { id: `${mark}-id` }),
      ...(by !== 'id' && { email: `${mark}@example.com` }),
      ...(by === 'id' && source && { source }),
    }
    // A busy machine may not look up the contact in time.
    const answer = await until('the service can decide about a purge', async () => {
      const asked = await service.post('/contacts/purge', body, { token: service.adminToken })
      return asked.status !== 503 && asked
    })
    assert.equal(answer.status, 200, answer.text)
  }

  const untilDrained = () =>
    until('all submissions are settled', async () => {
      const [ledger] = await readLedgers(service.sql, service.redis, service.redisPrefix)
      const counts = await Promise.all(
        Object.values(service.queues).map((queue) =>
          queue.getJobCountByTypes('waiting', 'active', 'delayed', 'prioritized'),
        ),
      )
      return ledger!.queued === 0 && counts.every((count) => count === 0)
    })

  it(`leaves no data anywhere, after any submissions and while workers are killed: ${CONTACTS} contacts`, async () => {
    const drawn = fc.sample(scenarios, { ...seeded(), numRuns: CONTACTS })
    await accepted('/contacts/identify', { id: KEPT })
    for (let round = 0; round < ROUNDS; round++) {
      const own = drawn
        .map((scenario, index) => ({ scenario, mark: `${MARK}x${index}` }))
        .filter((_, i) => i % ROUNDS === round)
      const isPaused = round === ROUNDS - 1
      if (isPaused) await Promise.all(Object.values(service.queues).map((queue) => queue.pause()))
      const later: typeof own = []
      let next = 0
      await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          while (next < own.length) {
            const contact = own[next++]!
            await submitAll(contact.mark, contact.scenario)
            if (contact.scenario.purged === 'later') later.push(contact)
            else await purge(contact.mark, contact.scenario)
            if (next === Math.floor(own.length / 2)) await replaceWorker()
          }
        }),
      )
      if (isPaused) await Promise.all(Object.values(service.queues).map((queue) => queue.resume()))
      else await untilDrained()
      for (const { mark, scenario } of later) await purge(mark, scenario)
    }
    await untilDrained()
    const kept = await service.sql`select from contact_external_id where external_id = ${KEPT}`
    assert.equal(kept.length, 1, 'the other contact of the shared conversations stays')
    const traces = await findTraces(
      { ...service, output: () => service.output() + outputs.map((output) => output()).join('') },
      [MARK],
    )
    assert.deepEqual(traces, [])
  })

  const replaceWorker = async (): Promise<void> => {
    await workers.shift()?.kill()
    await startWorker()
  }
})
