import assert from 'node:assert/strict'
import { once } from 'node:events'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { runCommand } from '../support/command.ts'
import { type ServiceProcess, spawnProgram, startProcess } from '../support/service-process.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { idleService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const CONVERSATION = {
  id: 'served',
  source: 'chat',
  createdAt: '2026-01-31T09:30:00Z',
  contacts: [{ id: 'c-1' }],
  messages: [{ id: 'm-1', incoming: true, content: 'Hello', createdAt: '2026-01-31T09:30:00Z' }],
}

const MISSED_WITHIN_MS = 45_000

describe('WORKER_QUEUES', () => {
  let service: Service
  const workers: ServiceProcess[] = []
  before(async () => {
    // A separate service, since a worker serves all workspaces, and the test counts its jobs.
    service = await startService({ workers: 0 })
  })
  after(async () => {
    await Promise.all(workers.map((worker) => worker.stop()))
    await service.stop()
  })

  const startWorker = async (served: string): Promise<void> => {
    const environment = { ...service.environment, WORKER_QUEUES: served }
    workers.push(await startProcess('worker/main.ts', 'working', environment))
  }
  const stateOf = async (answer: Answer): Promise<string> => {
    const path = `/api/v1/submissions/${answer.headers.get('Submission-Id')}`
    const { text } = await service.request(path, undefined, { method: 'GET' })
    return (JSON.parse(text) as { submission: { state: string } }).submission.state
  }
  const post = (path: string, body: object): Promise<Answer> => service.post(path, body, { token: service.adminToken })

  it('limits a worker to some queues: the jobs of other queues wait for another worker', async () => {
    await startWorker(' wake , backlog')
    const feedback = await post('/feedbacks', { description: 'No worker tags this yet' })
    const conversation = await post('/conversations', CONVERSATION)
    for (const answer of [feedback, conversation]) assert.equal(await service.settled(answer), 'applied')
    await until('its text waits for a tagger', async () => (await service.queues.tagging.getWaitingCount()) > 0)

    // The purge is decided in its place in the log. Its records wait for a worker that removes
    // them, without holding up other work.
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

  it('does not hide a frozen worker from the doctor, even if others run and it is connected', async () => {
    const [, frozen] = workers
    process.kill(frozen!.pid, 'SIGSTOP')
    try {
      const output = await until(
        'the doctor misses it',
        async () => {
          const { stdout } = await runCommand(service, 'cli/doctor/doctor-command.ts')
          return /^wrong +1 worker is connected and silent/m.test(stdout) && stdout
        },
        MISSED_WITHIN_MS,
      )
      assert.match(output, /^warning +No worker serves removal, tagging, webhook\./m)
      assert.doesNotMatch(output, /No worker is running/)
    } finally {
      process.kill(frozen!.pid, 'SIGCONT')
    }
    await until('it is back', async () => {
      const { stdout } = await runCommand(service, 'cli/doctor/doctor-command.ts')
      return /^0 wrong, /m.test(stdout)
    })
  })

  for (const bad of ['feedback', 'wake,contacts', 'all']) {
    it(`ends the start on ${bad}, and names the expected form`, async () => {
      const child = spawnProgram('worker/main.ts', [], { ...service.environment, WORKER_QUEUES: bad })
      let output = ''
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text) => (output += text))
      await once(child, 'close')
      assert.equal(child.exitCode, 1, output)
      assert.match(output, /WORKER_QUEUES .*some of wake, backlog, removal, tagging, webhook, separated by commas/)
    })
  }
})

const BATCHES = 16
const ITEMS = 250
/** Slow, so that much work is left when the queue is paused. */
const SLOW_ROW_SECONDS = 0.005

describe('the queue backlog', () => {
  it('stops when an operator pauses it, with any backlog, and continues when it is resumed', async () => {
    await using running = new AsyncDisposableStack()
    const service = await idleService()
    running.defer(service.stop)
    for (let batch = 0; batch < BATCHES; batch++) {
      const items = Array.from({ length: ITEMS }, (_, item) => ({
        operation: 'create_feedback',
        body: { description: `number ${item} of ${batch}`, tags: ['slow'] },
      }))
      const { status, text } = await service.post('/batch', { items })
      assert.equal(status, 200, text)
    }
    const { backlog } = service.queues
    const stored = async (): Promise<number> => {
      const [row] = await service.sql<[{ n: number }]>`select count(*)::int as n from feedback`
      return row.n
    }
    await service.all.unsafe(`
      create function slow_down() returns trigger language plpgsql as $$
      begin perform pg_sleep(${SLOW_ROW_SECONDS}); return new; end $$`)
    await service.all`create trigger slow before insert on feedback for each row execute function slow_down()`

    const worker = await startProcess('worker/main.ts', 'working', service.environment)
    running.defer(() => worker.stop())
    await until('some submissions are stored', async () => (await stored()) > 0)
    await backlog.pause()
    await until('no job is active', async () => (await backlog.getActiveCount()) === 0)
    const soFar = await stored()
    assert.ok(soFar < BATCHES * ITEMS, 'all submissions were stored before the pause')
    assert.equal(await backlog.isPaused(), true)

    await service.all`drop function slow_down cascade`
    await backlog.resume()
    await until('all submissions are stored', async () => (await stored()) === BATCHES * ITEMS)
  })
})
