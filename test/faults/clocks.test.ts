import assert from 'node:assert/strict'
import { rmSync, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { spawnSync } from 'node:child_process'
import { runCommand } from '../support/command.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { serveOn } from '../support/host-server.ts'
import { findLastingPort } from '../support/lasting-port.ts'
import { freeze } from '../support/kept-process.ts'
import { readLedger } from '../support/ledgers.ts'
import { describeFaults } from '../support/describe-faults.ts'
import { ownWorkspace } from '../support/own-workspace.ts'
import { type Service, submissionIdOf } from '../support/service.ts'
import { startHistoryService } from '../support/submitted-history.ts'
import { until } from '../support/until.ts'
import type { NetworkHost } from '../support/network.ts'
import { startParts } from '../support/temporary-directory.ts'

/** A clock that can be set while programs use it. */
type Clock = {
  readonly host: NetworkHost
  /** Sets the clock this many seconds ahead of this machine, or behind it if negative. */
  readonly set: (aheadSeconds: number) => void
}

/** The path of libfaketime, from its program `faketime`; undefined without this program. */
const clockLibrary = (): string | undefined => {
  const { status, stdout } = spawnSync('faketime', ['-m', '-f', '+0', 'printenv', 'LD_PRELOAD'], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

const SHARED_MEMORY = '/dev/shm'

/**
 * libfaketime 0.9.10 leaves two files in shared memory when its process is killed. Their names have
 * the process id. A later process with this id under another user may not open them, and ends.
 */
const forgetEndedClocks = (): void => {
  for (const name of readdirSync(SHARED_MEMORY)) {
    const pid = /^(?:sem\.faketime_sem_|faketime_shm_)(\d+)$/.exec(name)?.[1]
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue
    try {
      rmSync(join(SHARED_MEMORY, name), { force: true })
    } catch {
      // Files of another user cannot be removed.
    }
  }
}

/**
 * With jemalloc, the allocator of Redis, libfaketime waits for itself at the start. So hosts preload
 * another allocator.
 */
const ALLOCATOR = 'libc_malloc_debug.so.0'

const offsetOf = (aheadSeconds: number): string => `${aheadSeconds < 0 ? '' : '+'}${aheadSeconds}`

/** A host with another clock. Its monotonic clock is not changed, as on real machines. */
const hostWith = (name: string, library: string, time: string): NetworkHost => ({
  name,
  address: '127.0.0.1',
  via: ['env', `LD_PRELOAD=${ALLOCATOR} ${library}`, 'FAKETIME_DONT_FAKE_MONOTONIC=1', time],
})

const hostAhead = (name: string, library: string, aheadSeconds: number): NetworkHost =>
  hostWith(name, library, `FAKETIME=${offsetOf(aheadSeconds)}`)

/** `file` keeps the offset of the clock. The user of the programs must be able to read this file. */
const openClock = (file: string, library: string, aheadSeconds: number): Clock => {
  const set = (seconds: number): void => writeFileSync(file, `${offsetOf(seconds)}\n`)
  set(aheadSeconds)
  const { via, ...host } = hostWith(file, library, `FAKETIME_TIMESTAMP_FILE=${file}`)
  return { host: { ...host, via: [...via, 'FAKETIME_NO_CACHE=1'] }, set }
}

const HOUR_SECONDS = 3_600
const LIMIT = 200
const LONG = process.env['TEST_SIZE'] === 'long'
const MINUTE_SECONDS = 60

type Aheads = Readonly<Record<'api' | 'worker' | 'redis' | 'postgres', number>>
const [AHEAD, BEHIND] = [HOUR_SECONDS, -HOUR_SECONDS]
const APART: Readonly<Record<string, Aheads>> = {
  'of API and Postgres are two hours ahead of those of worker and Redis': {
    api: AHEAD,
    worker: BEHIND,
    redis: BEHIND,
    postgres: AHEAD,
  },
  'of worker and Redis are two hours ahead of those of API and Postgres': {
    api: BEHIND,
    worker: AHEAD,
    redis: AHEAD,
    postgres: BEHIND,
  },
}
const RIGHT: Aheads = { api: 0, worker: 0, redis: 0, postgres: 0 }

const library = clockLibrary()
const missing = library === undefined ? 'libfaketime is not installed (Debian has it as faketime)' : undefined

const startRig = (aheads: Aheads) => {
  forgetEndedClocks()
  return startParts('clocks', async (running, directory) => {
    running.defer(forgetEndedClocks)
    const clock = (name: 'api' | 'worker' | 'redis') =>
      openClock(join(directory, `clock of ${name}`), library!, aheads[name])
    const clocks = { api: clock('api'), worker: clock('worker'), redis: clock('redis') }
    const ofPostgres = hostAhead('postgres', library!, aheads.postgres)
    const postgres = await serveOn(ofPostgres, 'postgres', { dataDir: join(directory, 'postgres') })
    running.defer(postgres.stop)
    const redisDirectory = join(directory, 'redis')
    const order = { dataDir: redisDirectory, port: await findLastingPort() }
    let redis = await serveOn(clocks.redis.host, 'redis', order)
    running.defer(() => redis.stop())
    const service = await startHistoryService({
      databaseUrl: postgres.url,
      redisUrl: redis.url,
      hosts: { api: clocks.api.host, worker: clocks.worker.host },
      environment: { CONVERSATIONS_PER_MINUTE: String(LIMIT) },
    })
    running.defer(service.stop)
    return {
      ...service,
      aheads,
      clocks,
      /** Starts Redis again without its data, like a new machine in its place. */
      replaceRedis: async () => {
        process.kill(redis.pid, 'SIGKILL')
        await redis.exited
        rmSync(join(redisDirectory, 'appendonlydir'), { recursive: true })
        redis = await serveOn(clocks.redis.host, 'redis', order)
        await service.queues.tagging.pause()
      },
    }
  })
}
type Rig = Awaited<ReturnType<typeof startRig>>

/** Asserts that `LIMIT` conversations are accepted, and that clients may return within a minute. */
const assertLimited = async (rig: Service): Promise<void> => {
  const { post } = await ownWorkspace(rig)
  const createdAt = '2026-01-01T00:00:00Z'
  const ids = Array.from({ length: LIMIT + 10 }, (_, index) => `limited ${index}`)
  const answers = await Promise.all(
    ids.map((id) => post('/conversations', { id, source: 'chat', createdAt, contacts: [], messages: [] })),
  )
  const refused = answers.filter(({ status }) => status === 429)
  assert.equal(answers.filter(({ status }) => status === 200).length, LIMIT)
  assert.equal(refused.length, ids.length - LIMIT)
  for (const { headers } of refused) {
    const seconds = Number(headers.get('Retry-After'))
    assert.ok(seconds > 0 && seconds <= MINUTE_SECONDS, `Retry-After ${seconds}`)
  }
}

const assertDoctorTells = async ({ aheads, environment }: Rig): Promise<void> => {
  const { code, stdout } = await runCommand({ environment }, 'cli/doctor/doctor-command.ts')
  assert.equal(code, 1)
  for (const server of ['Redis', 'Postgres'] as const) {
    const where = aheads[server === 'Redis' ? 'redis' : 'postgres'] > 0 ? 'ahead of' : 'behind'
    assert.match(stdout, new RegExp(`^wrong +The clock of ${server} is 3[56]\\d{5} ms ${where} this one`, 'm'))
  }
}

const submitNumbered = async ({ post, settled, sql }: Service): Promise<number> => {
  const answer = await until('the service accepts', async () => {
    const accepted = await post('/feedbacks', { description: 'numbered' })
    return accepted.status === 201 && accepted
  })
  assert.equal(await settled(answer), 'applied')
  const [row] = await sql<[{ number: string }]>`
    select acceptance_number as number from submission where id = ${submissionIdOf(answer)}`
  return Number(row.number)
}

const assertNumbersGrow = async (rig: Service, change: () => unknown): Promise<void> => {
  const before = await submitNumbered(rig)
  await change()
  assert.ok((await submitNumbered(rig)) > before, 'acceptance numbers went back')
}

for (const [how, aheads] of Object.entries(APART).slice(0, LONG ? 2 : 1))
  describeFaults(`a service whose clocks ${how}`, {
    missing,
    start: () => startRig(aheads),
    rows: [
      {
        fault: 'at all times; limits hold, and the doctor reports the clocks',
        submissions: LONG ? 150 : 60,
        refusesNone: true,
        strike: async () => {},
        afterwards: async (rig) => {
          await assertLimited(rig)
          await assertDoctorTells(rig)
        },
      },
    ],
  })

describeFaults('a service with a clock that goes back by an hour', {
  missing,
  start: () => startRig(RIGHT),
  rows: [
    {
      fault: 'the clock of Redis, as at a failover; numbers grow, and limits hold',
      strike: (rig) => assertNumbersGrow(rig, () => rig.clocks.redis.set(BEHIND)),
      afterwards: assertLimited,
    },
    {
      fault: 'the clock of Redis, which has also lost its data',
      purges: false,
      forgets: true,
      strike: (rig, own) =>
        assertNumbersGrow(rig, async () => {
          const goOn = freeze({ pid: () => rig.apiPids[0] })
          await until('all submissions are stored', async () => (await readLedger(own)).queued === 0)
          rig.clocks.redis.set(2 * BEHIND)
          await rig.replaceRedis().finally(goOn)
        }),
    },
    {
      fault: 'the clock of a worker',
      strike: async ({ clocks }) => clocks.worker.set(BEHIND),
    },
    {
      fault: 'the clock of the API; requests wait and tokens are remembered no longer than usual',
      strike: async (rig) => {
        const { clocks, queues, environment, sql } = rig
        await holdWork(queues)
        const waiting = rig.post('/feedbacks', { description: 'waits' }, { headers: { Prefer: 'wait=3' } })
        await until('the request waits', async () => (await readLedger(rig)).queued > 0)
        clocks.api.set(BEHIND)
        assert.equal((await waiting).headers.get('Submission-State'), 'queued')
        await resumeWork(queues)
        const other = await ownWorkspace(rig)
        const say = async () => (await other.post('/feedbacks', { description: 'of a token' })).status
        assert.equal(await say(), 201)
        const [{ id }] = await sql<[{ id: string }]>`
          select id::text from token where workspace_id = ${other.workspaceId} and 'submit' = any (scopes)`
        const revoked = await runCommand({ environment }, 'cli/token-command.ts', 'revoke', id)
        assert.equal(revoked.code, 0, revoked.stderr)
        await until('the token is refused', async () => (await say()) === 401)
      },
    },
  ],
})
