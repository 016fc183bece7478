import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, it } from 'node:test'
import { tokenHash } from '../../contract/token-format.ts'
import { clockLibrary, forgetEndedClocks, hostAhead, openClock } from '../support/clocks.ts'
import { runCommand } from '../support/command.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { serveOn } from '../support/host-server.ts'
import { readLedger } from '../support/ledgers.ts'
import { moreIsAccepted, startLoad } from '../support/load.ts'
import { assertNothingLost, assertWellAnswered, recovery } from '../support/recovery.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { describeWhere } from '../support/where.ts'

const HOUR_SECONDS = 3_600
const LIMIT = 100
const MINUTE_SECONDS = 60

type Aheads = Readonly<Record<'api' | 'worker' | 'redis' | 'postgres', number>>
const APART: Readonly<Record<string, Aheads>> = {
  'of API and Postgres are two hours ahead of those of worker and Redis': {
    api: HOUR_SECONDS,
    worker: -HOUR_SECONDS,
    redis: -HOUR_SECONDS,
    postgres: HOUR_SECONDS,
  },
  'of worker and Redis are two hours ahead of those of API and Postgres': {
    api: -HOUR_SECONDS,
    worker: HOUR_SECONDS,
    redis: HOUR_SECONDS,
    postgres: -HOUR_SECONDS,
  },
}
const RIGHT: Aheads = { api: 0, worker: 0, redis: 0, postgres: 0 }

const library = clockLibrary()
const missing = library === undefined ? 'libfaketime is not installed (Debian has it as faketime)' : undefined

const startRig = async (aheads: Aheads) => {
  const running = new AsyncDisposableStack()
  forgetEndedClocks()
  running.defer(forgetEndedClocks)
  try {
    const directory = mkdtempSync(join(tmpdir(), 'feedback-insights-clocks-'))
    running.defer(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
    const clock = (name: 'api' | 'worker' | 'redis') =>
      openClock(join(directory, `clock of ${name}`), library!, aheads[name])
    const clocks = { api: clock('api'), worker: clock('worker'), redis: clock('redis') }
    const ofPostgres = hostAhead('postgres', library!, aheads.postgres)
    const postgres = await serveOn(ofPostgres, 'postgres', { dataDir: join(directory, 'postgres') })
    running.defer(postgres.stop)
    const redisDirectory = join(directory, 'redis')
    let redis = await serveOn(clocks.redis.host, 'redis', { dataDir: redisDirectory })
    running.defer(() => redis.stop())
    const service = await startService({
      databaseUrl: postgres.url,
      redisUrl: redis.url,
      hosts: { api: clocks.api.host, worker: clocks.worker.host },
      environment: { CONVERSATIONS_PER_MINUTE: String(LIMIT) },
    })
    running.defer(service.stop)
    return {
      clocks,
      service,
      asked: { ...service, url: service.urls[0]!, prefix: service.redisPrefix },
      /** As a new machine in its place, which has nothing of what it had. */
      replaceRedis: async () => {
        process.kill(redis.pid, 'SIGKILL')
        await redis.exited
        rmSync(join(redisDirectory, 'appendonlydir'), { recursive: true })
        redis = await serveOn(clocks.redis.host, 'redis', { dataDir: redisDirectory, port: redis.port })
      },
      stop: () => running.disposeAsync(),
    }
  } catch (error) {
    await running.disposeAsync()
    throw error
  }
}
type Rig = Awaited<ReturnType<typeof startRig>>

/** Somebody's feedback, all of which a purge removes, and one that comes after it, of somebody new. */
const purgeOne = async ({ submit, sql, adminToken }: Service, name: string, meanwhile = async () => {}) => {
  const email = `${name}@example.com`
  const say = (description: string) => submit('/feedbacks', { description, contact: { email } })
  await say(`${name} before`)
  await meanwhile()
  await submit('/contacts/purge', { email }, { token: adminToken })
  await say(`${name} after`)
  const left = await sql<{ description: string }[]>`
    select description from feedback where description like ${`${name} %`}`
  assert.deepEqual([...left], [{ description: `${name} after` }])
}

/** Of a minute's conversations no more than the limit get in, and who is refused may come back within the minute. */
const assertLimited = async ({ post, sql }: Service, since: string): Promise<void> => {
  const createdAt = '2026-01-01T00:00:00Z'
  const [{ lately }] = await sql<[{ lately: number }]>`
    select count(*)::int as lately from submission
    where operation = 'submit_conversation' and acceptance_number > ${since}::bigint`
  const ids = Array.from({ length: LIMIT + 10 }, (_, index) => `limited ${index}`)
  const answers = await Promise.all(
    ids.map((id) => post('/conversations', { id, source: 'chat', createdAt, contacts: [], messages: [] })),
  )
  const refused = answers.filter(({ status }) => status === 429)
  const admitted = answers.filter(({ status }) => status === 200)
  assert.equal(refused.length + admitted.length, ids.length)
  assert.ok(admitted.length <= LIMIT && admitted.length + lately >= LIMIT, `${admitted.length} and ${lately} before`)
  for (const { headers } of refused) {
    const seconds = Number(headers.get('Retry-After'))
    assert.ok(seconds > 0 && seconds <= MINUTE_SECONDS, `Retry-After ${seconds}`)
  }
}

const highestNumber = async ({ sql }: Service): Promise<string> => {
  const [row] = await sql<[{ highest: string }]>`select max(acceptance_number)::text as highest from submission`
  return row.highest
}
const assertNumbersAbove = async ({ sql }: Service, ids: Iterable<string>, highest: string): Promise<void> => {
  const [row] = await sql<[{ above: boolean }]>`
    select bool_and(acceptance_number > ${highest}::bigint) as above from submission where id = any (${[...ids]}::uuid[])`
  assert.ok(row.above, 'acceptance numbers went back')
}

for (const [how, aheads] of Object.entries(APART))
  describeWhere(`a service whose clocks ${how}`, missing, () => {
    let rig: Rig
    before(async () => {
      rig = await startRig(aheads)
    })
    after(() => rig?.stop())

    it('loses nothing, stores nothing twice, and purges', async () => {
      const load = startLoad(rig.asked)
      await moreIsAccepted(load, 50)
      await purgeOne(rig.service, 'ada')
      await moreIsAccepted(load, 50)
      await load.stop()
      await recovery(rig.asked, load.seen)
      assertWellAnswered(load.seen)
      assert.equal(load.seen.refused + load.seen.unknown, 0)
      await assertNothingLost(rig.asked, load.seen)
    })

    it('limits what comes in a minute', () => assertLimited(rig.service, '0'))

    it('the doctor says so', async () => {
      const { code, stdout } = await runCommand(rig.service, 'cli/doctor/doctor-command.ts')
      assert.equal(code, 1)
      for (const server of ['Redis', 'Postgres'] as const) {
        const where = aheads[server === 'Redis' ? 'redis' : 'postgres'] > 0 ? 'ahead of' : 'behind'
        assert.match(stdout, new RegExp(`^wrong +The clock of ${server} is 3[56]\\d{5} ms ${where} this one`, 'm'))
      }
    })
  })

describeWhere('a service one of whose clocks goes back by an hour', missing, () => {
  let rig: Rig
  before(async () => {
    rig = await startRig(RIGHT)
  })
  after(() => rig?.stop())

  it('goes on when it is that of Redis, as at a failover: numbers grow, and purges take what came before', async () => {
    const { service, asked, clocks } = rig
    const headers = { 'Idempotency-Key': 'once' }
    const first = await service.submit('/feedbacks', { description: 'once' }, { headers })
    const load = startLoad(asked)
    await moreIsAccepted(load)
    let numberBefore = ''
    await purgeOne(service, 'grace', async () => {
      clocks.redis.set(-HOUR_SECONDS)
      numberBefore = await highestNumber(service)
    })
    const { size } = load.seen.accepted
    await moreIsAccepted(load)
    await load.stop()
    await recovery(asked, load.seen)
    assertWellAnswered(load.seen)
    await assertNothingLost(asked, load.seen)
    await assertNumbersAbove(service, [...load.seen.accepted.keys()].slice(size), numberBefore)
    const again = await service.post('/feedbacks', { description: 'once' }, { headers })
    assert.equal(again.headers.get('Submission-Id'), first.headers.get('Submission-Id'))
    await assertLimited(service, numberBefore)
  })

  it('gives no number again when Redis has lost its data as well', async () => {
    const { service, clocks, replaceRedis } = rig
    clocks.redis.set(-2 * HOUR_SECONDS)
    const highest = await highestNumber(service)
    await replaceRedis()
    const answer = await until('it accepts again', async () => {
      const said = await service.post('/feedbacks', { description: 'of the new one' })
      return said.status === 201 && said
    })
    assert.equal(await service.settled(answer), 'applied')
    await assertNumbersAbove(service, [answer.headers.get('Submission-Id')!], highest)
  })

  it('goes on when it is that of a worker', async () => {
    const { service, clocks } = rig
    clocks.worker.set(-HOUR_SECONDS)
    await purgeOne(service, 'alan')
  })

  it('waits no longer, and knows no token longer, when it is that of the API', async () => {
    const { service, clocks } = rig
    const { stdout } = await runCommand(
      service,
      'cli/token-command.ts',
      'create',
      '--workspace',
      'default',
      '--scope',
      'submit',
    )
    const token = stdout.trim()
    const [{ id }] = await service.sql<[{ id: string }]>`
      select id::text from token where hash = decode(${tokenHash(token)}, 'hex')`
    assert.equal((await service.post('/feedbacks', { description: 'of a token' }, { token })).status, 201)
    await holdWork(service.queues)
    const waiting = service.post('/feedbacks', { description: 'waits' }, { headers: { Prefer: 'wait=3' } })
    await until('it is waiting', async () => (await readLedger(service)).queued > 0)
    clocks.api.set(-HOUR_SECONDS)
    assert.equal((await waiting).headers.get('Submission-State'), 'queued')
    await resumeWork(service.queues)
    const revoked = await runCommand(service, 'cli/token-command.ts', 'revoke', id)
    assert.equal(revoked.code, 0, revoked.stderr)
    await until('it is refused', async () => {
      const { status } = await service.post('/feedbacks', { description: 'of a revoked token' }, { token })
      return status === 401
    })
  })
})
