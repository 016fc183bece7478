import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { type BatchItem, type Client, createClient, RequestError } from '../../client/client.ts'
import { typesText } from '../../cli/client/make-package.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { makeAuthority } from '../support/certificates.ts'
import type { Service } from '../support/service.ts'
import { operatedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'
import { unwilling, type UnwillingService } from '../support/unwilling.ts'

const CREATED_AT = '2026-01-31T09:30:00Z'
const NOBODY_LISTENS = 'http://127.0.0.1:9'

describe('the client', () => {
  let service: Service
  let between: UnwillingService
  let client: Client
  let admin: Client
  before(async () => {
    service = await operatedService()
    between = await unwilling(service.urls[0]!)
    client = createClient({ url: between.url, token: service.accessToken, strict: true })
    admin = createClient({ url: `${between.url}/api/v1/`, token: service.adminToken })
  })
  after(async () => {
    between?.stop()
    await service?.stop()
  })

  const refused = async (call: Promise<unknown>): Promise<RequestError> => {
    const error: unknown = await call.then(
      () => assert.fail('It was accepted.'),
      (reason: unknown) => reason,
    )
    assert.ok(error instanceof RequestError, String(error))
    return error
  }

  it('has the types and the operations of the reference', async () => {
    const current = readFileSync(new URL('../../client/types.ts', import.meta.url), 'utf8')
    assert.equal(current, await typesText(), 'npm run client writes client/types.ts again')
    const { text } = await service.get('/openapi.json', { token: null })
    const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, { operationId: string }>> }
    const operations = Object.entries(paths)
      .filter(([path]) => path.startsWith('/api/v1/'))
      .flatMap(([, methods]) => Object.values(methods).map(({ operationId }) => operationId))
    assert.deepEqual(Object.keys(client).toSorted(), operations.toSorted())
  })

  it('submits with every operation, and reads receipts', async () => {
    const sourceData = { 'page.url': '/reports' }
    const { feedback, submissionId, state } = await client.createFeedback(
      { description: 'x', source: 'a', sourceId: CREATED_AT, sourceData, shouldUnflattenSourceData: true },
      { waitSeconds: 20 },
    )
    assert.deepEqual([feedback.sourceId, feedback.sourceData], [CREATED_AT, { page: { url: '/reports' } }])
    assert.equal(state, 'applied')
    const receipt = await client.getSubmission(submissionId)
    assert.deepEqual([receipt.operation, receipt.state], ['create_feedback', 'applied'])
    const contact = { id: 'ada', source: 'crm', properties: { $email: 'ada@x.example', plan: 'team' } }
    const messages = [{ id: 'm', incoming: true, contactId: 'ada', content: 'It hangs.', createdAt: CREATED_AT }]
    const accepted = [
      await client.identifyContact({ ...contact, account: { id: 'acme' } }),
      await client.identifyAccount({ id: 'acme', properties: { $name: 'Acme', $domain: 'acme.example' } }),
      await client.submitConversation({
        id: 'c',
        source: 'chat',
        createdAt: CREATED_AT,
        contacts: [contact],
        messages,
      }),
      await admin.purgeContact({ email: 'ada@x.example' }),
    ]
    assert.deepEqual(
      accepted.map(({ success }) => success),
      accepted.map(() => true),
    )
    assert.equal(new Set(accepted.map((answer) => answer.submissionId)).size, accepted.length)
  })

  it('reads each list, and a record by its id', async () => {
    const [name, contact] = ['Lists', { id: 'lin', source: 'crm' }]
    await client.identifyAccount({ id: name, properties: { $name: name, $domain: 'lists.example' } })
    await client.submitConversation({
      id: name,
      source: name,
      createdAt: CREATED_AT,
      contacts: [contact],
      messages: [],
    })
    const body = { description: 'x', tags: [name], project: { name } }
    assert.equal((await client.createFeedback(body, { waitSeconds: 20 })).state, 'applied')
    type Read = [list: () => Promise<object>, get: (id: string) => Promise<object>]
    const reads: Readonly<Record<string, Read>> = {
      feedbacks: [admin.listFeedbacks, admin.getFeedback],
      customers: [admin.listCustomers, admin.getCustomer],
      accounts: [admin.listAccounts, admin.getAccount],
      projects: [admin.listProjects, admin.getProject],
      feedbackCategories: [admin.listFeedbackCategories, admin.getFeedbackCategory],
      conversations: [admin.listConversations, async (id) => (await admin.getConversation(id)).conversation],
    }
    for (const [member, [list, get]] of Object.entries(reads)) {
      const { [member]: found } = (await list()) as Record<string, { id: string }[] | undefined>
      assert.ok(found?.[0], member)
      assert.equal(((await get(found[0].id)) as { id: string }).id, found[0].id, member)
    }
    assert.equal((await admin.listChanges({ limit: 1 })).changes.length, 1)
    const keys = { domain: 'lists.example', name } as const
    const [account] = (await admin.listAccounts({ ...keys, externalId: name })).accounts
    assert.equal(account?.name, name)
    assert.equal((await admin.listCustomers({ externalId: 'lin', source: 'crm' })).customers.length, 1)
  })

  it('repeats a request after a broken connection, a 503 or a 429, at the requested time, and stores one record', async () => {
    const seen = between.seen.length
    const waits: (readonly [number | undefined, number])[] = []
    between.refuse('cut', 503, 'lost', 429)
    const onWait = ({ ms, status }: { ms: number; status: number | undefined }): void => void waits.push([status, ms])
    const patient = createClient({ url: between.url, token: service.accessToken, onWait })
    const begunAt = performance.now()
    await patient.createFeedback({ description: 'without an id of its own' }, { waitSeconds: 20 })
    const keys = between.seen.slice(seen).map(({ key }) => key)
    assert.equal(keys.length, 5)
    assert.equal(new Set(keys).size, 1)
    assert.match(keys[0]!, /^[0-9a-f-]{36}$/)
    // On a used connection Deno itself repeats a request.
    assert.deepEqual(
      waits.filter(([status]) => status !== undefined),
      [
        [503, 1_000],
        [429, 1_000],
      ],
    )
    assert.ok(performance.now() - begunAt >= 2_000)
    assert.equal((await service.sql`select from feedback where description = 'without an id of its own'`).length, 1)
  })

  it('makes an idempotency key also when the given one is undefined', async () => {
    const given = { idempotencyKey: undefined, waitSeconds: undefined }
    await client.createFeedback({ description: 'without a key' }, given)
    assert.match(between.seen.at(-1)?.key ?? '', /^[0-9a-f-]{36}$/)
  })

  it('reports a purge as done although its answer was lost', async () => {
    await client.identifyContact({ id: 'gone', source: 'crm' })
    between.refuse('lost')
    assert.equal((await admin.purgeContact({ id: 'gone', source: 'crm' })).success, true)
    assert.equal((await refused(admin.purgeContact({ id: 'gone', source: 'crm' }))).status, 404)
  })

  const conversation = (at: number): BatchItem => ({
    operation: 'submit_conversation',
    body: { id: `b${at}`, source: 'batch', createdAt: CREATED_AT, contacts: [], messages: [] },
  })

  it('repeats only the items of a batch that may be accepted later, within its waiting time', async () => {
    const invalid = { operation: 'create_feedback', body: { description: 7 } } as unknown as BatchItem
    const feedback: BatchItem = { operation: 'create_feedback', idempotencyKey: 'mine', body: { description: 'once' } }
    const bucket = workspaceKeys(service.redisPrefix, service.workspaceId).bucket('submit_conversation')
    await service.redis.unlink(bucket)
    const seen = between.seen.length
    between.refuse('lost', 503)
    // The limit is per minute, which is long for a test.
    const onWait = ({ status }: { status: number | undefined }): void => {
      if (status === 429) void service.redis.unlink(bucket)
    }
    const patient = createClient({ url: between.url, token: service.accessToken, onWait })
    const items = [invalid, ...Array.from({ length: 12 }, (_, at) => conversation(at)), feedback]
    const results = await patient.submitBatch(items)
    assert.deepEqual(
      results.map(({ status }) => status),
      [400, ...Array.from({ length: 12 }, () => 200), 201],
    )
    const sent = between.seen.slice(seen).map(({ body }) => (JSON.parse(body) as { items: BatchItem[] }).items)
    assert.deepEqual(
      sent.map(({ length }) => length),
      [14, 14, 14, 2],
    )
    const keys = (batch: readonly BatchItem[]): unknown[] => batch.map(({ idempotencyKey }) => idempotencyKey)
    assert.deepEqual(keys(sent[2]!), keys(sent[0]!))
    assert.deepEqual(keys(sent[3]!), keys(sent[0]!.slice(11, 13)))
    assert.equal(keys(sent[0]!)[13], 'mine')
    await until('each is stored once', async () => {
      const [row] = await service.sql`
        select (select count(*)::integer from conversation where source = 'batch') as conversations,
               (select count(*)::integer from feedback where description = 'once') as feedback`
      return row!['conversations'] === 12 && row!['feedback'] === 1
    })
    await service.redis.unlink(bucket)
    const impatient = createClient({ url: between.url, token: service.accessToken, patienceMs: 0 })
    const inTime = await impatient.submitBatch(Array.from({ length: 11 }, (_, at) => conversation(at)))
    assert.deepEqual(
      inTime.map(({ status }) => status),
      [...Array.from({ length: 10 }, () => 200), 429],
    )
  })

  it('returns the results of a batch although the repetition of a part is refused', async () => {
    await service.redis.unlink(workspaceKeys(service.redisPrefix, service.workspaceId).bucket('submit_conversation'))
    const onWait = (): void => between.refuse(403)
    const barred = createClient({ url: between.url, token: service.accessToken, onWait })
    const results = await barred.submitBatch(Array.from({ length: 11 }, (_, at) => conversation(at)))
    assert.deepEqual(
      results.map(({ status }) => status),
      [...Array.from({ length: 10 }, () => 200), 429],
    )
  })

  it('ends after its waiting time, and names the last answer or the fault of the connection', async () => {
    const impatient = (url: string): Client => createClient({ url, token: service.accessToken, patienceMs: 900 })
    between.refuse(503)
    const put = await refused(impatient(between.url).createFeedback({ description: 'x' }))
    assert.deepEqual([put.status, put.message], [503, '503: later'])
    const away = await refused(impatient(NOBODY_LISTENS).identifyContact({ id: 'x' }))
    assert.equal(away.status, undefined)
    // Deno gives no error code.
    assert.match(away.message, /^http:\/\/127\.0\.0\.1:9 does not answer \((?:ECONNREFUSED|.*blocked)\)$/)
    assert.ok(away.cause instanceof Error)
  })

  it('ends after its attempts, and does not count an answer 429 or 503 as an attempt', async () => {
    const trying = createClient({ url: between.url, token: service.accessToken, attempts: 2 })
    between.refuse(503, 500, 429)
    await trying.createFeedback({ description: 'x' })
    const seen = between.seen.length
    between.refuse(500, 503, 502)
    assert.equal((await refused(trying.createFeedback({ description: 'x' }))).status, 502)
    assert.equal(between.seen.length - seen, 3)
  })

  it('does not wait for a service whose certificate it does not trust', async () => {
    const { certificate: cert, key } = makeAuthority().issueFor('127.0.0.1')
    const server = createServer({ cert, key }, (_request, answer) => void answer.end('{}'))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const waits: unknown[] = []
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const untrusting = createClient({ url, token: service.accessToken, onWait: (wait) => void waits.push(wait) })
    const { message, cause } = await refused(untrusting.identifyContact({ id: 'x' }))
    server.close()
    assert.match(message, /does not answer \(.*(?:CERT|SIGNATURE|certificate).*\)$/)
    assert.ok(cause instanceof Error)
    assert.deepEqual(waits, [])
  })

  it('distinguishes refusals, and does not repeat them', async () => {
    const seen = between.seen.length
    const misspelt = { description: 7, ratin: 3 } as unknown as { description: string }
    const invalid = await refused(client.createFeedback(misspelt))
    assert.equal(invalid.status, 400)
    assert.deepEqual(invalid.problems.map(({ path }) => path).toSorted(), ['description', 'ratin'])
    assert.match(invalid.message, /description must be/)
    assert.match(invalid.requestId ?? '', /^[\w-]+$/)
    assert.equal((await refused(client.purgeContact({ id: 'x' }))).status, 403)
    const stranger = createClient({ url: between.url, token: 'stranger-has-this-token' })
    assert.equal((await refused(stranger.identifyContact({ id: 'x' }))).status, 401)
    const [id, idempotencyKey] = ['x', 'same']
    await client.identifyContact({ id }, { idempotencyKey })
    assert.equal((await refused(client.identifyContact({ id: 'y' }, { idempotencyKey }))).status, 422)
    assert.equal((await refused(client.getSubmission(crypto.randomUUID()))).status, 404)
    const elsewhere = await refused(createClient({ url: `${service.urls[0]}/docs`, token: 'x' }).getSubmission('x'))
    assert.equal(elsewhere.status, 404)
    assert.equal(between.seen.length - seen, 6)
  })
})
