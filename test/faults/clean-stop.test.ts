import assert from 'node:assert/strict'
import { connect } from 'node:net'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { hashKeyFrom, projectKey } from '../../contract/identity/keys.ts'
import { FULL_STRIDE_SUBMISSIONS } from '../../queue/log/log.ts'
import { runCommand } from '../support/command.ts'
import { readLedger } from '../support/ledgers.ts'
import { exchange } from '../support/raw-exchange.ts'
import { type Answer, type Service, startService, submissionIdOf } from '../support/service.ts'
import { type ServiceProcess, startProcess } from '../support/service-process.ts'
import { GUARD_MS, until } from '../support/until.ts'

/** More than a full stride, so that the first worker leaves some to others. */
const SUBMISSIONS = FULL_STRIDE_SUBMISSIONS + 200
/** Each worker settles at least this many, so that few workers are started. */
const EACH = 150
const CONVERSATION = {
  id: 'served',
  source: 'chat',
  createdAt: '2026-01-31T09:30:00Z',
  contacts: [{ id: 'c-1' }],
  messages: [{ id: 'm-1', incoming: true, content: 'Hello', createdAt: '2026-01-31T09:30:00Z' }],
}

/** Long enough that submissions are still queued when the test stops a worker, or pauses a queue. */
const SLOW_ROW_SECONDS = 0.005

let service: Service
before(async () => {
  service = await startService({ workers: 0 })
})
after(() => service?.stop())

/** Makes the storage of feedback slow. Returns a function that ends this. */
const slowDown = async (): Promise<() => Promise<unknown>> => {
  await service.sql.unsafe(`
    create function slow_down() returns trigger language plpgsql as $$
    begin perform pg_sleep(${SLOW_ROW_SECONDS}); return new; end $$`)
  await service.sql`create trigger slow before insert on feedback for each row execute function slow_down()`
  return async () => service.sql`drop function slow_down cascade`
}

describe('a clean stop', () => {
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
  /** A submission whose body follows its head when `bodyMayCome` resolves. */
  const submitSlowlyTo = async (api: ServiceProcess, bodyMayCome: Promise<void>): Promise<number[]> => {
    const body = JSON.stringify({ description: 'x' })
    const head =
      `POST /api/v1/feedbacks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.accessToken}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    const { answers } = await exchange(`http://127.0.0.1:${api.port}`, {
      pieces: [head, () => bodyMayCome, body],
      isEnough: (seen) => seen.answers.length > 0,
      withinMs: GUARD_MS,
    })
    return answers.map(({ status }) => status)
  }

  it('of the API ends its readiness, and answers requests in flight, even with Prefer: wait', async () => {
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
    const draining = Promise.withResolvers<void>()
    const slow = submitSlowlyTo(api, draining.promise)
    const waiting = submitTo(api, { Prefer: 'wait=30' })
    await until('the waiting request is queued', async () => (await readLedger(service)).queued > 0)
    const stopped = api.stop()
    await until('the API drains', () => Promise.resolve(api.output().includes('"event":"draining"')))
    assert.doesNotMatch(await ask(), /"ready":true/)
    draining.resolve()
    assert.deepEqual(await slow, [201])
    const answer = await waiting
    assert.deepEqual([answer.status, answer.headers.get('Submission-State')], [201, 'queued'])
    socket.destroy()
    await stopped
  })

  it('of a worker finishes active jobs, and leaves none to another worker', async () => {
    const ids: string[] = []
    while (ids.length < SUBMISSIONS) {
      const together = Array.from({ length: 50 }, () => service.post('/feedbacks', { description: 'x' }))
      for (const answer of await Promise.all(together)) ids.push(submissionIdOf(answer))
    }
    const speedUp = await slowDown()
    const queuedNow = async (): Promise<number> => (await readLedger(service)).queued
    let stops = 0
    for (let left = await queuedNow(); left > 0; left = await queuedNow()) {
      stops++
      const worker = await startWorker()
      const enough = Math.max(0, left - EACH)
      await until('the worker has settled some submissions', async () => (await queuedNow()) <= enough)
      await worker.stop()
      const active = await Promise.all(Object.values(service.queues).map((queue) => queue.getActiveCount()))
      assert.deepEqual([...new Set(active)], [0], 'no job is left with a stopped worker')
    }
    await speedUp()
    assert.ok(stops > 1, 'a worker stopped while submissions were queued')
    const rows = await service.sql`
      select state, attempts, count(*)::int as n from submission where id = any (${ids}) group by 1, 2`
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [{ state: 'applied', attempts: 1, n: SUBMISSIONS }],
    )
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
    await until('the worker drains', () => Promise.resolve(worker.output().includes('"event":"draining"')))
    await holder`rollback`
    holder.release()
    await stopped
    assert.equal(await service.settled(answer), 'applied')
  })
})

describe('WORKER_QUEUES', () => {
  const workers: ServiceProcess[] = []
  after(async () => void (await Promise.all(workers.map((worker) => worker.stop()))))

  const startWorker = async (served: string): Promise<void> => {
    const environment = { ...service.environment, WORKER_QUEUES: served }
    workers.push(await startProcess('worker/main.ts', 'working', environment))
  }
  const stateOf = async (answer: Answer): Promise<string> =>
    (await service.get(`/api/v1/submissions/${submissionIdOf(answer)}`)).body.submission.state as string
  const post = (path: string, body: object): Promise<Answer> => service.post(path, body, { token: service.adminToken })

  it('limits a worker to some queues: the jobs of other queues wait for another worker', async () => {
    await startWorker(' wake , backlog')
    const feedback = await post('/feedbacks', { description: 'No worker tags this yet' })
    const conversation = await post('/conversations', CONVERSATION)
    for (const answer of [feedback, conversation]) assert.equal(await service.settled(answer), 'applied')
    // Only a tagger ends the delay of its jobs.
    const countTexts = () => service.queues.tagging.getJobCountByTypes('waiting', 'delayed')
    await until('the text waits for a tagger', async () => (await countTexts()) > 0)

    // This worker decides the purge. The removal of records waits for another worker, and holds up
    // no other work.
    const purge = await post('/contacts/purge', { id: 'c-1' })
    assert.equal(purge.status, 200, purge.text)
    const later = await post('/conversations', { ...CONVERSATION, id: 'later' })
    assert.equal(await service.settled(later), 'applied')
    assert.deepEqual([await stateOf(purge), await service.queues.removal.getWaitingCount()], ['queued', 1])

    const { stdout } = await runCommand(service, 'cli/doctor/doctor-command.ts')
    assert.match(stdout, /^wrong +No worker serves removal, tagging, webhook\.\n +→ .*WORKER_QUEUES/m)

    await startWorker('removal,tagging,webhook')
    assert.equal(await service.settled(purge), 'applied')
    await until('texts are tagged', async () => {
      const [row] = await service.sql`select tags from feedback where description = 'No worker tags this yet'`
      return row!['tags'] !== null
    })
  })

  it('does not hide a frozen worker from the doctor, even while another worker runs', async () => {
    const [, frozen] = workers
    // Work that waits would be more than a warning.
    const { tagging, webhook, removal } = service.queues
    await until('no job waits', async () => {
      const states = ['waiting', 'delayed', 'active'] as const
      const counts = await Promise.all([tagging, webhook, removal].map((queue) => queue.getJobCountByTypes(...states)))
      return counts.every((count) => count === 0)
    })
    process.kill(frozen!.pid, 'SIGSTOP')
    try {
      const output = await until('the doctor reports the frozen worker', async () => {
        const { stdout } = await runCommand(service, 'cli/doctor/doctor-command.ts')
        return /^wrong +1 worker is connected and silent/m.test(stdout) && stdout
      })
      assert.match(output, /^warning +No worker serves removal, tagging, webhook\./m)
      assert.doesNotMatch(output, /No worker is running/)
    } finally {
      process.kill(frozen!.pid, 'SIGCONT')
    }
    await until('the doctor finds no fault', async () => {
      const { stdout } = await runCommand(service, 'cli/doctor/doctor-command.ts')
      return /^0 wrong, /m.test(stdout)
    })
  })
})

const BATCHES = 16
const ITEMS = 250

describe('the queue backlog', () => {
  it('stops when an operator pauses it, however many submissions wait, and continues when it is resumed', async () => {
    await using running = new AsyncDisposableStack()
    for (let batch = 0; batch < BATCHES; batch++) {
      const items = Array.from({ length: ITEMS }, (_, item) => ({
        operation: 'create_feedback',
        body: { description: `number ${item} of ${batch}`, tags: ['slow'], source: 'backlog' },
      }))
      const { status, text } = await service.post('/batch', { items })
      assert.equal(status, 200, text)
    }
    const { backlog } = service.queues
    const stored = async (): Promise<number> => {
      const [row] = await service.sql<[{ n: number }]>`
        select count(*)::int as n from feedback where source = 'backlog'`
      return row.n
    }
    const speedUp = await slowDown()
    const worker = await startProcess('worker/main.ts', 'working', service.environment)
    running.defer(() => worker.stop())
    await until('some submissions are stored', async () => (await stored()) > 0)
    await backlog.pause()
    await until('no job is active', async () => (await backlog.getActiveCount()) === 0)
    const soFar = await stored()
    assert.ok(soFar < BATCHES * ITEMS, 'all submissions were stored before the pause')
    assert.equal(await backlog.isPaused(), true)

    await speedUp()
    await backlog.resume()
    await until('all submissions are stored', async () => (await stored()) === BATCHES * ITEMS)
  })
})
