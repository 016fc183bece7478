import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { hashKeyFrom } from '../../contract/identity/own-id.ts'
import { projectKey } from '../../contract/identity/keys.ts'
import { readLedger } from '../support/ledgers.ts'
import { type Service, startService } from '../support/service.ts'
import { type ServiceProcess, startProcess } from '../support/service-process.ts'
import { until } from '../support/until.ts'

const SUBMISSIONS = 1_500

describe('a clean stop', () => {
  let service: Service
  before(async () => {
    service = await startService({ workers: 0 })
  })
  after(() => service?.stop())

  const realm = () => ({
    hashKey: hashKeyFrom(service.environment['HASH_KEY']!),
    workspaceId: service.workspaceId,
  })
  const startApi = () => startProcess('api/main.ts', 'listening', { ...service.environment })
  const startWorker = () => startProcess('worker/main.ts', 'working', { ...service.environment })
  const submitTo = (api: ServiceProcess, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`http://127.0.0.1:${api.port}/api/v1/feedbacks`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${service.accessToken}`, 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ description: 'x' }),
    })

  it('of the API ends its readiness, and answers requests in flight, even waiting ones', async () => {
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
    await until('it is queued', async () => (await readLedger(service)).queued > 0)
    const stopped = api.stop()
    await until('it drains', () => Promise.resolve(api.output().includes('"event":"draining"')))
    assert.doesNotMatch(await ask(), /"ready":true/)
    const answer = await waiting
    assert.deepEqual([answer.status, answer.headers.get('Submission-State')], [201, 'queued'])
    socket.destroy()
    await stopped
  })

  it('of a worker finishes active jobs, and none is delivered again', async () => {
    const ids: string[] = []
    while (ids.length < SUBMISSIONS) {
      const together = Array.from({ length: 50 }, () => service.post('/feedbacks', { description: 'x' }))
      for (const answer of await Promise.all(together)) ids.push(answer.headers.get('Submission-Id')!)
    }
    const queuedNow = async (): Promise<number> => (await readLedger(service)).queued
    let stops = 0
    for (let left = await queuedNow(); left > 0; left = await queuedNow()) {
      stops++
      const worker = await startWorker()
      await until('the worker has settled some submissions', async () => (await queuedNow()) < left)
      await worker.stop()
      const active = await Promise.all(Object.values(service.queues).map((queue) => queue.getActiveCount()))
      assert.deepEqual([...new Set(active)], [0], 'no job is left with a stopped worker')
    }
    const rows = await service.sql`
      select state, attempts, count(*)::int as n from submission where id = any (${ids}) group by 1, 2`
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [{ state: 'applied', attempts: 1, n: SUBMISSIONS }],
    )
    const finished = await service.queues.wake.getCompleted()
    assert.ok(finished.every(({ stalledCounter }) => stalledCounter === 0))
    console.log(`${SUBMISSIONS} submissions over ${stops} workers`)
  })

  it('of a worker that waits for Postgres finishes the work that has begun', async () => {
    const holder = await service.sql.reserve()
    await holder`begin`
    // A save of the worker waits for this row.
    await holder`
      insert into project (workspace_id, id, name, first_number, change_position)
      values (${service.workspaceId}, ${projectKey(realm(), 'held up')}, 'held up', 1, 1)`
    const [held] = await holder<{ pid: number }[]>`select pg_backend_pid() as pid`
    const worker = await startWorker()
    const answer = await service.post('/feedbacks', { description: 'held up', project: { name: 'held up' } })
    await until('the worker waits for Postgres', async () => {
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
