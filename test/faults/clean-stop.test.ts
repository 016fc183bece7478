import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { admissionKeys } from '../../queue/keys.ts'
import { findQueuedReceipt } from '../../queue/queued-receipt.ts'
import { readLedgers } from '../support/ledgers.ts'
import { type Service, startService } from '../support/service.ts'
import { type ServiceProcess, startProcess } from '../support/service-process.ts'
import { until } from '../support/until.ts'

const SUBMISSIONS = 3_000
const PROMPTLY_MS = 5_000

describe('a clean stop', () => {
  let service: Service
  before(async () => {
    service = await startService({ workers: 0 })
  })
  after(() => service.stop())

  const startApi = () => startProcess('api/main.ts', 'listening', { ...service.environment })
  const startWorker = () => startProcess('worker/main.ts', 'working', { ...service.environment })
  const submitTo = (api: ServiceProcess, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`http://127.0.0.1:${api.port}/api/v1/feedbacks`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${service.accessToken}`, 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ description: 'x' }),
    })

  it('of the API: readiness goes, and requests in flight are answered, also those that wait', async () => {
    const api = await startApi()
    const socket = connect(api.port, '127.0.0.1')
    let heard = ''
    socket.setEncoding('utf8').on('data', (text: string) => (heard += text))
    const ask = async (): Promise<string> => {
      heard = ''
      socket.write('GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n')
      await until('an answer or the end of the connection', () => Promise.resolve(heard.includes('}') || socket.closed))
      return heard
    }
    assert.match(await ask(), /^HTTP\/1.1 200[^]*\{"ready":true\}/)
    const waiting = submitTo(api, { Prefer: 'wait=30' })
    await until('it is queued', async () => (await service.queues.submissions.getWaitingCount()) > 0)
    const startedAt = performance.now()
    const stopped = api.stop()
    await until('it drains', () => Promise.resolve(api.output().includes('"event":"draining"')))
    assert.doesNotMatch(await ask(), /"ready":true/)
    const answer = await waiting
    assert.deepEqual([answer.status, answer.headers.get('Submission-State')], [201, 'queued'])
    socket.destroy()
    await stopped
    assert.ok(performance.now() - startedAt < PROMPTLY_MS, 'nobody who waits holds it up')
  })

  it('of the API under load: what it has begun it answers, and what it confirmed is queued', async () => {
    const api = await startApi()
    const answers: Promise<Response | undefined>[] = []
    for (let index = 0; index < SUBMISSIONS / 4; index++) answers.push(submitTo(api).catch(() => undefined))
    await answers[0]
    await api.stop()
    const settled = await Promise.all(answers)
    const confirmed = settled
      .filter((answer) => answer?.status === 201)
      .map((answer) => answer!.headers.get('Submission-Id')!)
    assert.ok(confirmed.length > 0)
    assert.deepEqual(
      settled.filter((answer) => answer !== undefined && answer.status !== 201),
      [],
    )
    const { redis, redisPrefix: prefix, workspaceId, queues } = service
    const receipts = await Promise.all(
      confirmed.map((id) => findQueuedReceipt({ redis, prefix, queues }, { workspaceId, id })),
    )
    assert.ok(receipts.every((receipt) => receipt !== undefined))
    const leftInOutbox = await redis.zcard(admissionKeys(prefix, workspaceId).outbox)
    assert.equal(leftInOutbox, 0, 'jobs carry all of it: nobody has to hand it over')
  })

  it('of a worker: active jobs finish, and nothing is delivered again', async () => {
    const ids: string[] = []
    while (ids.length < SUBMISSIONS) {
      const together = Array.from({ length: 50 }, () => service.post('/feedbacks', { description: 'x' }))
      for (const answer of await Promise.all(together)) ids.push(answer.headers.get('Submission-Id')!)
    }
    const queuedNow = async (): Promise<number> =>
      (await readLedgers(service.sql, service.redis, service.redisPrefix))[0]!.queued
    let stops = 0
    for (let left = await queuedNow(); left > 0; left = await queuedNow()) {
      stops++
      const worker = await startWorker()
      await until('it has settled some', async () => (await queuedNow()) < left)
      await worker.stop()
      const active = await Promise.all(Object.values(service.queues).map((queue) => queue.getActiveCount()))
      assert.deepEqual([...new Set(active)], [0], 'no job is left in a stopped worker’s hands')
    }
    const rows = await service.sql`
      select state, attempts, count(*)::int as n from submission where id = any (${ids}) group by 1, 2`
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [{ state: 'applied', attempts: 1, n: SUBMISSIONS }],
    )
    const finished = await service.queues.submissions.getCompleted()
    assert.ok(finished.length > 0 && finished.every(({ stalledCounter }) => stalledCounter === 0))
    console.log(`${SUBMISSIONS} submissions over ${stops} workers`)
  })

  it('of a worker while Postgres holds it up: what it has begun it finishes', async () => {
    const holder = await service.sql.reserve()
    await holder`begin`
    await holder`select lock_workspaces(array[${service.workspaceId}]::uuid[])`
    const [held] = await holder<{ pid: number }[]>`select pg_backend_pid() as pid`
    const worker = await startWorker()
    const answer = await service.post('/feedbacks', { description: 'held up' })
    // Not until it is active: what was fetched and not begun yet, a worker that stops gives back.
    await until('it waits for Postgres', async () => {
      const waiting = await service.sql`select from pg_stat_activity where ${held!.pid} = any (pg_blocking_pids(pid))`
      return waiting.length > 0
    })
    const stopped = worker.stop()
    await until('it drains', () => Promise.resolve(worker.output().includes('"event":"draining"')))
    await holder`rollback`
    holder.release()
    await stopped
    assert.equal(await service.settled(answer), 'applied')
  })
})
