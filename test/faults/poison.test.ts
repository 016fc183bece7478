import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { Job } from 'bullmq'
import type { Barrier } from '../../queue/barrier.ts'
import { JOB_VERSION } from '../../contract/job.ts'
import { hashKeyFrom } from '../../contract/identity/own-id.ts'
import { isPermanentFault } from '../../process/fault.ts'
import type { Ledger } from '../../contract/ledger.ts'
import { readLedgers } from '../support/ledgers.ts'
import { type Rows, store } from '../../db/store.ts'
import { inTurn, type Placed } from '../../worker/in-turn.ts'
import { rowsOf, type StoredJob } from '../../worker/rows/rows.ts'
import { feedbackBody, inject } from '../support/below-the-ingress.ts'
import { type Service, startService } from '../support/service.ts'
import { type ServiceProcess, startProcess } from '../support/service-process.ts'
import { until } from '../support/until.ts'

const BATCH = 500
const BAD = 217
const NEIGHBOURS = 20
/** Deaths of its worker after which a job is suspected (worker/suspects.ts); the first may not be counted. */
const SUSPECTED_AFTER = 4
const GIVEN_UP_WITHIN_MS = 90_000
/** Whatever kills its workers may do it so often, and once more. */
const MAX_DELIVERIES = 5

describe('a bad submission', () => {
  let service: Service
  const workers: ServiceProcess[] = []
  before(async () => {
    service = await startService({ workers: 0 })
  })
  after(async () => {
    await Promise.all(workers.map((worker) => worker.stop()))
    await service.stop()
  })

  const startWorker = () => startProcess('worker/main.ts', 'working', { ...service.environment })
  const readLedger = async (): Promise<Ledger> => {
    const [ledger] = await readLedgers(service.sql, service.redis, service.redisPrefix)
    return ledger!
  }
  const textOf = (index: number): string => (index === BAD ? 'bad \u0000' : `good ${index}`)

  it(`fails alone in a batch of ${BATCH}, whose others are stored in the same round`, async () => {
    const hashKey = hashKeyFrom(service.environment['HASH_KEY']!)
    const { workspaceId, sql } = service
    const items = Array.from({ length: BATCH }, (_, index): Placed & { rows: Rows } => {
      const number = index + 1
      const job = {
        version: JOB_VERSION,
        operation: 'create_feedback',
        workspaceId,
        submissionId: randomUUID(),
        number,
        body: feedbackBody(`alone ${textOf(index)}`),
      } as StoredJob
      return { workspaceId, number, isPurge: false, queue: 'feedback', rows: rowsOf(hashKey, job, 1) }
    })
    const sizes: number[] = []
    const storeInTurn = inTurn({
      readBarrier: () => Promise.resolve({ purges: [], outstanding: [] } satisfies Barrier),
      bringForward: async () => new Map(),
      store: async (batch: readonly (typeof items)[number][]) => {
        sizes.push(batch.length)
        const rows = batch.map((item) => item.rows)
        await store(sql, rows)
        return rows
      },
      conclude: async () => {},
      isPermanent: isPermanentFault,
      now: Date.now,
      bounds: {
        items: BATCH,
        waitMs: 5,
        busyFrom: BATCH,
        busyWaitMs: 5,
        enough: BATCH,
        parallel: 2,
        lookAgainAfterMs: 20,
        stuckAfterMs: 1_000,
        exchanged: 20,
      },
    })
    const results = await Promise.allSettled(items.map(storeInTurn))
    const failed = results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))
    assert.deepEqual(failed, [BAD])
    assert.deepEqual(sizes, [BATCH, ...items.map(() => 1)], 'one batch, then each of it once')
    const stored = await sql`select from feedback where description like 'alone good %'`
    assert.equal(stored.count, BATCH - 1)
  })

  it(`among ${BATCH} queued ones ends dead with its reason; the others are applied at the first attempt`, async () => {
    const injected: string[] = []
    for (let index = 0; index < BATCH; index++) {
      injected.push((await inject(service, service.queues, { body: feedbackBody(textOf(index)) })).submissionId)
    }
    workers.push(await startWorker())
    await until(
      'all are settled',
      async () => {
        const ledger = await readLedger()
        return ledger.queued === 0 && ledger.dead === 1
      },
      30_000,
    )
    const rows = await service.sql<{ id: string; state: string; attempts: number; error: string | null }[]>`
      select id, state, attempts, error from submission where id = any (${injected})`
    assert.equal(rows.length, BATCH)
    const bad = rows.filter(({ state, attempts }) => state !== 'applied' || attempts !== 1)
    assert.deepEqual(bad, [{ id: injected[BAD], state: 'dead', attempts: 1, error: 'PostgresError 22P05' }])
    const failures = workers[0]!
      .output()
      .split('\n')
      .filter((line) => line.includes('job_failed'))
    assert.equal(failures.length, 1)
    await workers.pop()!.stop()
  })

  const lockOf = (id: string): string => `${service.queues.feedback.toKey(id)}:lock`
  const isWorkedOn = (id: string): Promise<unknown> =>
    until('a worker has the job', async () => (await service.redis.exists(lockOf(id))) === 1, 20_000)
  const isAlone = (id: string): Promise<unknown> =>
    until(
      'a worker has it and nothing else',
      async () => {
        const active = await service.queues.feedback.getActive()
        return active.length === 1 && active[0]?.id === id
      },
      20_000,
    )
  /** A statement that is only on its way when its worker is killed would be found by nobody, and be carried out in the end. */
  const isHeldUp = (holder: number): Promise<unknown> =>
    until('its statement waits', async () => {
      const waiting = await service.sql`
        select from pg_stat_activity
        where application_name = 'feedback-insights-worker' and ${holder} = any (pg_blocking_pids(pid))`
      return waiting.count > 0
    })
  /** The statements of a killed worker go on, and would be carried out as soon as nobody holds them up. */
  const endStatements = (holder: number): Promise<unknown> =>
    until('no statement waits', async () => {
      const ended = await service.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'feedback-insights-worker' and query like '%store(%'
          and (${holder} = any (pg_blocking_pids(pid)) or pg_blocking_pids(pid) && array(
            select w.pid from pg_stat_activity as w where ${holder} = any (pg_blocking_pids(w.pid))))`
      return ended.count === 0
    })
  /** As if the time were over after which the jobs of a killed worker are taken for abandoned. */
  const hasten = async (): Promise<void> => {
    const active = (await service.queues.feedback.getActive()).map((job: Job) => job.id!)
    await service.redis.del(...active.map(lockOf), service.queues.feedback.toKey('stalled-check'))
    await service.redis.sadd(service.queues.feedback.toKey('stalled'), ...active)
  }

  it('that kills its worker again and again ends dead, and of those that share its hands all are stored', async () => {
    // Those of the first test were stored without having been accepted.
    const { difference } = await readLedger()
    // What tags the record would wait for its holder, too.
    await service.queues.tagging.pause()
    const record = { source: 'desk', sourceId: randomUUID() }
    workers.push(await startWorker())
    await service.submit('/feedbacks', { description: 'before it', ...record })
    await workers.pop()!.stop()
    // Whoever wants to store the record waits: so its worker can be killed whenever it works on the job, with all that wait behind.
    const holder = await service.sql.reserve()
    const [{ pid }] = await holder<[{ pid: number }]>`select pg_backend_pid() as pid`
    await holder`begin`
    // On a slow machine the workers die more slowly than Postgres waits for an idle transaction.
    await holder`set local idle_in_transaction_session_timeout = 0`
    await holder`select from feedback where source_id = ${record.sourceId} for update`
    const { submissionId } = await inject(service, service.queues, { body: feedbackBody('deadly', record) })
    const others: string[] = []
    for (let index = 0; index < NEIGHBOURS; index++) {
      others.push((await inject(service, service.queues, { body: feedbackBody(`neighbour ${index}`) })).submissionId)
    }
    for (let deaths = 0; deaths <= MAX_DELIVERIES; deaths++) {
      const worker = await startWorker()
      await isWorkedOn(submissionId)
      // By then it is tried alone: those beside it are given back.
      if (deaths > SUSPECTED_AFTER) await isAlone(submissionId)
      await isHeldUp(pid)
      await worker.kill()
      await endStatements(pid)
      await hasten()
    }
    await holder`rollback`
    holder.release()
    workers.push(await startWorker())
    await service.submit('/feedbacks', { description: 'after it' })
    const row = await until(
      'it is dead',
      async () => {
        const [found] = await service.sql`select state, error from submission where id = ${submissionId}`
        return found
      },
      GIVEN_UP_WITHIN_MS,
    )
    assert.deepEqual({ ...row }, { state: 'dead', error: 'GivenUp stalled' })
    await until('the ledger is exact', async () => {
      const ledger = await readLedger()
      return ledger.queued === 0 && ledger.difference === difference
    })
    assert.equal(await service.queues.feedback.getFailedCount(), 0, 'it is in nobody’s way')
    const stored = await service.sql`select from submission where id = any (${others}) and state = 'applied'`
    assert.equal(stored.count, NEIGHBOURS)
    const [dead] = await service.sql`select job from dead_submission where id = ${submissionId}`
    assert.equal(JSON.parse(dead!['job']).body.description, 'deadly')
  })
})
