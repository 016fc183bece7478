import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createLog } from '../../queue/log/log.ts'
import { feedbackBody, inject } from '../support/inject.ts'
import { type CollectedSpan, type Collector, startCollector } from '../support/collector.ts'
import { serveHttp } from '../support/http-server.ts'
import { RawConnection } from '../support/raw-connection.ts'
import { startProcess } from '../support/service-process.ts'
import { type Service, startService, submissionIdOf } from '../support/service.ts'
import { idleService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const SERVER = 2
const CONSUMER = 5
const SUBMISSION = 'feedback_insights.submission.id'
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const PARENT_ID = 'b7ad6b7169203331'

describe('traces', () => {
  let collector: Collector
  let service: Service
  before(async () => {
    collector = await startCollector()
    collector.setAway(true)
    service = await startService({ environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
  })
  after(() => collector?.close())

  const spanOf = (submission: string, kind: number): Promise<CollectedSpan> =>
    collector.span(`kind ${kind} of ${submission}`, (span) => {
      return span.kind === kind && span.attributes[SUBMISSION] === submission
    })
  const taggingIn = (traceId: string): Promise<CollectedSpan> =>
    collector.span(`the tagging in ${traceId}`, (span) => span.traceId === traceId && span.name === 'process tagging')

  it('do not stop a process while the collector is away; each process logs the outage once', async () => {
    const timesLogged = (event: string): number => service.output().split(`"event":"${event}"`).length - 1
    const submitOne = () => service.submit('/feedbacks', { description: 'Still here', tags: [] })
    const logged = (event: string) =>
      until(`both processes log ${event}`, async () => {
        await submitOne()
        return timesLogged(event) === 2
      })
    await logged('collector_unreachable')
    for (let sent = 0; sent < 20; sent++) await submitOne()
    collector.setAway(false)
    await logged('collector_reachable')
    assert.equal(timesLogged('collector_unreachable'), 2)
  })

  it('lead from a request to its stored record and its tags', async () => {
    const id = submissionIdOf(await service.submit('/feedbacks', { description: 'Printing invoices takes ages' }))
    const request = await spanOf(id, SERVER)
    const stored = await spanOf(id, CONSUMER)
    const tagged = await taggingIn(request.traceId)
    assert.deepEqual(
      [request.parentSpanId, stored.traceId, stored.parentSpanId, tagged.parentSpanId],
      [undefined, request.traceId, request.spanId, stored.spanId],
    )
    assert.deepEqual([request.service, stored.service], ['feedback-insights-api', 'feedback-insights-worker'])
    assert.deepEqual(request.attributes, {
      'http.request.method': 'POST',
      'http.route': '/api/v1/feedbacks',
      'http.response.status_code': 201,
      'feedback_insights.operation': 'create_feedback',
      'feedback_insights.workspace.id': service.workspaceId,
      [SUBMISSION]: id,
    })
    // After slow strides, a workspace uses the queue backlog.
    const { 'messaging.destination.name': queue, ...ofStride } = stored.attributes
    assert.ok(stored.name === `process ${queue}` && (queue === 'wake' || queue === 'backlog'), stored.name)
    assert.deepEqual(ofStride, {
      'messaging.system': 'bullmq',
      'messaging.operation.type': 'process',
      'messaging.batch.message_count': 1,
      'feedback_insights.operation': 'create_feedback',
      'feedback_insights.workspace.id': service.workspaceId,
      'feedback_insights.state': 'applied',
      [SUBMISSION]: id,
    })
    // A job can have texts that came just before.
    const { 'messaging.batch.message_count': texts, ...ofTagging } = tagged.attributes
    assert.ok(Number(texts) >= 1)
    assert.deepEqual(ofTagging, {
      'messaging.system': 'bullmq',
      'messaging.operation.type': 'process',
      'messaging.destination.name': 'tagging',
      'feedback_insights.workspace.id': service.workspaceId,
      'feedback_insights.attempts': 1,
    })
  })

  it('continue the trace of the caller', async () => {
    const headers = { traceparent: `00-${TRACE_ID}-${PARENT_ID}-01` }
    const id = submissionIdOf(await service.submit('/feedbacks', { description: 'The map does not load' }, { headers }))
    const request = await spanOf(id, SERVER)
    assert.deepEqual([request.traceId, request.parentSpanId], [TRACE_ID, PARENT_ID])
    assert.equal((await spanOf(id, CONSUMER)).traceId, TRACE_ID)
    await taggingIn(TRACE_ID)
  })

  it('begin a new trace without a valid traceparent of the caller', async () => {
    const improper = [`00-${'0'.repeat(32)}-${PARENT_ID}-01`, `00-${TRACE_ID}-${PARENT_ID}`, 'ff', '', '00-x']
    const begun = improper.map(async (traceparent) => {
      const id = submissionIdOf(
        await service.submit('/feedbacks', { description: 'x', tags: [] }, { headers: { traceparent } }),
      )
      return spanOf(id, SERVER)
    })
    for (const { traceId, parentSpanId } of await Promise.all(begun)) {
      assert.notEqual(traceId, TRACE_ID)
      assert.equal(parentSpanId, undefined)
    }
  })

  it('are not sent if the caller does not record its trace', async () => {
    const traceId = TRACE_ID.replace('0af', 'bad')
    const headers = { traceparent: `00-${traceId}-${PARENT_ID}-00` }
    const silent = submissionIdOf(await service.submit('/feedbacks', { description: 'The list is slow' }, { headers }))
    const id = submissionIdOf(await service.submit('/feedbacks', { description: 'The list is quick' }))
    const { traceId: other } = await spanOf(id, SERVER)
    await taggingIn(other)
    assert.deepEqual(
      collector.spans().filter((span) => span.traceId === traceId || span.attributes[SUBMISSION] === silent),
      [],
    )
  })

  it('cover every operation, and purges until their decision', async () => {
    const contact = { id: 'traced', source: 'crm', properties: { $name: 'T', $email: 'traced@example.com' } }
    const createdAt = '2026-01-31T09:30:00Z'
    const messages = [{ id: 'm', incoming: true, content: 'Hi', createdAt }]
    const conversation = { id: 'c', source: 'chat', createdAt, contacts: [{ id: 'traced' }], messages }
    const submissions: [path: string, body: object][] = [
      ['/contacts/identify', contact],
      ['/accounts/identify', { id: 'a' }],
      ['/conversations', conversation],
      ['/contacts/purge', { id: 'traced' }],
    ]
    const ids: string[] = []
    for (const [path, body] of submissions) {
      ids.push(submissionIdOf(await service.submit(path, body, { token: service.adminToken })))
    }
    for (const [index, [path]] of submissions.entries()) {
      const id = ids[index]!
      const request = await spanOf(id, SERVER)
      const stored = await spanOf(id, CONSUMER)
      assert.deepEqual(
        [request.attributes['http.route'], stored.traceId, stored.attributes['feedback_insights.state']],
        [`/api/v1${path}`, request.traceId, path === '/contacts/purge' ? 'queued' : 'applied'],
      )
      assert.match(stored.name, /^process (wake|backlog)$/)
    }
  })

  it('have the reason of a refusal, and no text of unknown paths and methods', async () => {
    await service.post('/feedbacks', { rating: 'good' })
    await service.post('/feedbacks', {}, { token: null })
    await service.post('/contacts/purge', {})
    await service.get('/api/v1/submissions/00000000-0000-7000-8000-000000000000')
    for (const reason of ['invalid', 'unauthenticated', 'forbidden', 'no-such-submission']) {
      await collector.span(reason, ({ attributes }) => attributes['feedback_insights.refused'] === reason)
    }
    await service.request('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { token: 'nothing' })
    await collector.span('a call of an agent', ({ attributes }) => attributes['http.route'] === '/mcp')
    const connection = new RawConnection(service.urls[0]!)
    const head = 'QX7 /api/v1/Qx7-path?Qx7-query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n'
    // Bun closes the connection at an unknown method; Deno treats it like any other.
    await connection.send(Buffer.from(head), { hasBody: true, timeoutMs: 30_000 }).catch(() => {})
    connection.close()
    await service.post('/Qx7-path?Qx7-query', {})
    await collector.span('no path', (span) => span.name === 'POST' && span.attributes['http.route'] === undefined)
    assert.doesNotMatch(collector.received(), /qx7/i)
  })

  it('have no submitted content, even of refused and dead submissions', async () => {
    const canary = 'canary9417'
    const traceId = TRACE_ID.replace('0af', 'cab')
    const headers = { 'Idempotency-Key': canary, 'X-Request-Id': canary, traceparent: `00-${traceId}-${PARENT_ID}-01` }
    const contact = { id: canary, name: canary, email: `${canary}@example.com`, sourceData: { [canary]: canary } }
    const body = {
      description: canary,
      title: canary,
      source: canary,
      sourceId: canary,
      project: { name: canary },
      contact,
      account: { name: canary, domain: `${canary}.example` },
      sourceData: { [canary]: canary },
    }
    const id = submissionIdOf(await service.submit('/feedbacks', body, { headers }))
    await taggingIn((await spanOf(id, CONSUMER)).traceId)
    const [stored] = await service.sql<[{ customerId: string }]>`
      select contact_id as "customerId" from feedback where source_id = ${canary}`
    await service.post('/feedbacks', { ...body, rating: canary })
    await service.post('/feedbacks', { description: `other ${canary}` }, { headers })
    await service.submit('/contacts/purge', { email: `${canary}@example.com` }, { token: service.adminToken })
    // A text that Postgres refuses can only be admitted past the API.
    const { submissionId } = await inject(service, service.queues, { body: feedbackBody(`${canary} \u0000`) })
    const dead = await spanOf(submissionId, CONSUMER)
    assert.deepEqual([dead.attributes['feedback_insights.state'], dead.fault], ['dead', 'PostgresError 22P05'])
    const last = submissionIdOf(await service.submit('/feedbacks', { description: 'The end' }))
    await taggingIn((await spanOf(last, SERVER)).traceId)
    assert.ok(collector.spans().every(({ events }) => events === 0))
    for (const held of [canary, stored.customerId, service.accessToken]) assert.ok(!collector.received().includes(held))
  })

  it('are sent completely before a process ends', async () => {
    const id = submissionIdOf(await service.submit('/feedbacks', { description: 'The last one', tags: [] }))
    await service.stop()
    const kinds = collector.spans().flatMap(({ attributes, kind }) => (attributes[SUBMISSION] === id ? [kind] : []))
    assert.deepEqual(
      kinds.toSorted((one, other) => one - other),
      [SERVER, CONSUMER],
    )
  })
})

describe('a process whose collector hangs', () => {
  it('ends in time', async () => {
    const { environment } = await idleService()
    const hung = await serveHttp(() => {})
    const api = await startProcess('api/main.ts', 'listening', {
      ...environment,
      OTEL_EXPORTER_OTLP_ENDPOINT: hung.url,
      SHUTDOWN_SECONDS: '5',
    })
    await fetch(`http://127.0.0.1:${api.port}/api/v1/feedbacks`, { method: 'POST' })
    // Fails if the process does not end cleanly within SHUTDOWN_SECONDS.
    await api.stop()
    hung.stop()
  })
})

describe('a process that does not trace', () => {
  it('stores no traceparent with a submission, even if the caller sends one', async () => {
    const { post, workspaceId, redis, redisPrefix, stop } = await idleService()
    const headers = { traceparent: `00-${TRACE_ID}-${PARENT_ID}-01` }
    const id = submissionIdOf(await post('/feedbacks', { description: 'Untraced' }, { headers }))
    const [submission, ...others] = await Array.fromAsync(createLog(redis, redisPrefix).readWaiting(workspaceId))
    assert.deepEqual([submission?.submissionId, submission?.traceparent, others.length], [id, undefined, 0])
    await stop()
  })
})
