import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import * as fc from 'fast-check'
import { runCommand } from '../support/command.ts'
import { type FaultStack, startFaultStack, type Target, TARGETS } from '../support/fault-stack.ts'
import { freeze, randomStrikes, SIGNALS, strike } from '../support/kept-process.ts'
import { readLedger } from '../support/ledgers.ts'
import { losingAnswers, standBetween } from '../support/between.ts'
import { assertAnswersWithoutPostgres, assertAnswersWithoutRedis, readMetrics } from '../support/outage-answers.ts'
import { describeFaults, type Fault } from '../support/describe-faults.ts'
import { seeded } from '../support/property-seed.ts'
import { testServers } from '../support/servers.ts'
import { type HistoryService, startHistoryService } from '../support/submitted-history.ts'
import { until } from '../support/until.ts'
import { startThreeWorkers, WORKERS_DIE } from '../support/worker-crew.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
const STOP_MS = LONG ? 5_000 : 1_500
const OUTAGE_MS = LONG ? 60_000 : 0
/** The most lines that two processes log during an outage: they do not log each attempt. */
const MOST_LINES = LONG ? 700 : 100
const RANDOM_FAULTS = Number(process.env['RANDOM_FAULTS'] ?? (LONG ? 100 : 3))
const KILLS = Number(process.env['KILLS'] ?? (LONG ? 200 : 2))
const KILLED_CONNECTIONS = Number(process.env['KILLED_CONNECTIONS'] ?? (LONG ? 5_000 : 40))
const SEEDS_BELOW = 2 ** 31
/** The delay in each direction, half of a round trip. */
const EACH_WAY_MS = 50
/** One piece in this many comes late, as if TCP sent it again. Later pieces wait for it. */
const LOST_EACH = 100
const SENT_AGAIN_AFTER_MS = 200

type Row = Fault<FaultStack>
/** Begins an outage. The returned function ends it. */
type Away = (stack: FaultStack) => Promise<() => void>

/** Answers get lost when the API ends, and when Redis is away or hangs. */
const losesAnswers = (target: Target): boolean => target === 'api' || target === 'redis'

/** Other rows end or freeze a process in each of the other ways. */
const SIGNALLED_SHORT = ['api SIGTERM', 'worker SIGKILL', 'worker SIGSTOP', 'postgres SIGKILL']
const signalled: readonly Row[] = TARGETS.flatMap((target) =>
  SIGNALS.filter((signal) => LONG || SIGNALLED_SHORT.includes(`${target} ${signal}`)).map((signal): Row => {
    const strikeOne = ({ kept }: FaultStack) => strike(kept[target], signal, STOP_MS)
    const isIdleFirst = LONG || signal === 'SIGKILL'
    const strikeIdle = async (stack: FaultStack): Promise<void> => {
      await strikeOne(stack)
      await stack.untilReady()
    }
    return {
      fault: `${target} gets ${signal}${isIdleFirst ? ', first idle and then' : ''} under load`,
      purges: !losesAnswers(target),
      ...(isIdleFirst && { prepare: strikeIdle }),
      strike: strikeOne,
    }
  }),
)

const away =
  (target: Target): Away =>
  async ({ kept }) => {
    await kept[target].hold()
    return kept[target].letGo
  }
const hangs =
  (target: Target): Away =>
  async ({ kept }) =>
    freeze(kept[target])
const hasNoRoom: Away = async ({ sql }) => {
  await sql`
    create function raise_disk_full() returns trigger language plpgsql as $$
    begin raise exception using errcode = 'disk_full', message = 'could not extend file'; end $$`
  await sql`create trigger full_disk before insert on submission for each statement execute function raise_disk_full()`
  return () => void sql`drop function raise_disk_full() cascade`.execute()
}

const whileAway = (begin: Away, check: (stack: FaultStack) => Promise<void>) => async (stack: FaultStack) => {
  const end = await begin(stack)
  try {
    await pause(OUTAGE_MS)
    await check(stack)
  } finally {
    end()
  }
}

/** Uses each token before Postgres is away: later, a process knows only the tokens it has seen. */
const useTokens = (stack: FaultStack) =>
  Promise.all([stack.submit('/feedbacks', { description: 'probe' }), readMetrics(stack)])
const assertNoFailedAttempt = async (_: FaultStack, { sql, workspaceId }: HistoryService): Promise<void> => {
  const rows = await sql`select from submission where workspace_id = ${workspaceId} and attempts > 1`
  assert.equal(rows.count, 0, 'an outage does not count as a failed attempt')
}

const outages: readonly Row[] = [
  ...Object.entries({ 'is away': away('postgres'), hangs: hangs('postgres') }).map(([how, begin]): Row => ({
    fault: `Postgres ${how}; submissions are accepted; purges and receipts get Retry-After`,
    purges: false,
    refusesNone: true,
    prepare: useTokens,
    strike: async (stack) => {
      const before = stack.output().length
      await whileAway(begin, assertAnswersWithoutPostgres)(stack)
      const logged = stack.output().slice(before)
      assert.ok(logged.split('\n').length < MOST_LINES, logged)
    },
    afterwards: assertNoFailedAttempt,
  })),
  {
    fault: 'the disk of Postgres is full; submissions are accepted, and stored when there is room',
    purges: false,
    refusesNone: true,
    strike: whileAway(hasNoRoom, async ({ post }) => {
      const waited = await post('/feedbacks', { description: 'probe' }, { headers: { Prefer: 'wait=3' } })
      assert.deepEqual([waited.status, waited.headers.get('Submission-State')], [201, 'queued'])
    }),
    afterwards: assertNoFailedAttempt,
  },
  ...Object.entries({ 'is away': away('redis'), hangs: hangs('redis') }).map(([how, begin]): Row => ({
    fault: `Redis ${how}; submissions, purges and receipts get Retry-After`,
    purges: false,
    strike: whileAway(begin, assertAnswersWithoutRedis),
  })),
]

/**
 * Restarts Redis while no submission is queued and none arrives. `change` can remove data before the
 * start.
 */
const restartRedis = async (stack: FaultStack, own: HistoryService, change: (directory: string) => void) => {
  const { redis, kept } = stack
  const goOn = freeze(kept.api)
  try {
    await until('all submissions are stored', async () => (await readLedger(own)).queued === 0)
    const [, directory] = (await redis.config('GET', 'dir')) as [string, string]
    await kept.redis.hold()
    change(directory)
    kept.redis.letGo()
    await until('Redis answers again', async () => (await redis.ping()) === 'PONG')
    // Redis may have forgotten that this queue is paused.
    await stack.queues.tagging.pause()
  } finally {
    goOn()
  }
}
const assertDoctorTells = async (stack: FaultStack): Promise<void> => {
  const { stdout } = await runCommand(stack, 'cli/doctor/doctor-command.ts')
  assert.match(stdout, /Postgres has more submissions than Redis has accepted/)
}

const redisRestarts: readonly Row[] = [
  {
    fault: 'Redis with appendfsync always is killed',
    purges: false,
    strike: async ({ redis, kept }) => {
      await redis.config('SET', 'appendfsync', 'always')
      await strike(kept.redis, 'SIGKILL', 0)
    },
  },
  {
    fault: 'Redis returns to an earlier state, like a replica that was behind',
    purges: false,
    forgets: true,
    strike: async (stack, own) => {
      // When Redis ends, it loses the writes from here on.
      await stack.redis.config('SET', 'appendonly', 'no')
      const { accepted } = await readLedger(own)
      await until('more submissions are accepted', async () => (await readLedger(own)).accepted > accepted + 50)
      await restartRedis(stack, own, () => {})
    },
    afterwards: assertDoctorTells,
  },
  {
    fault: 'Redis loses its data',
    purges: false,
    forgets: true,
    strike: (stack, own) =>
      restartRedis(stack, own, (directory) => rmSync(join(directory, 'appendonlydir'), { recursive: true })),
    afterwards: assertDoctorTells,
  },
]

const dyingConnections: Row = {
  fault: `${KILLED_CONNECTIONS} connections to Postgres are ended, even new ones, and no process ends`,
  purges: false,
  strike: async ({ sql, kept }) => {
    const pids = () => [kept.api.pid(), kept.worker.pid()]
    const before = pids()
    let killed = 0
    const kill = async (): Promise<boolean> => {
      // A fault in the first statements of the driver must not end a process either.
      const ended = await sql`
        select pg_terminate_backend(pid) from pg_stat_activity where application_name ~ '^feedback-insights-(api|worker)'`
      killed += ended.count
      return killed >= KILLED_CONNECTIONS
    }
    await until('enough connections have been ended', kill)
    assert.deepEqual(pids(), before)
  },
}

const inARow: Row = {
  fault: `${RANDOM_FAULTS} faults in a row`,
  purges: false,
  strike: async ({ kept }) => {
    const { seed = randomInt(SEEDS_BELOW) } = seeded()
    const strikes = fc.sample(randomStrikes(Object.values(kept)), { numRuns: RANDOM_FAULTS, seed })
    for (const { target, signal, stopMs, thenMs } of strikes) {
      await strike(target, signal, stopMs)
      await pause(thenMs)
    }
    return { note: `FC_SEED=${seed}` }
  },
}

describeFaults('a service with an API, a worker, Redis and Postgres', {
  start: startFaultStack,
  rows: [...signalled, ...outages, dyingConnections, ...redisRestarts, inARow],
})

const startLosingAnswers = async () => {
  let between: Awaited<ReturnType<typeof losingAnswers>>
  const redisOfApi = async (url: string) => (between = await losingAnswers(url)).url
  const stack = await startFaultStack({ redisOfApi })
  return { ...stack, between: between!, stop: () => stack.stop().finally(between.stop) }
}

describeFaults('a service whose API is killed after an admission, before it wakes a worker', {
  start: startLosingAnswers,
  rows: [
    {
      fault: `${KILLS} times; its admissions are applied without a wake, before a client repeats them`,
      purges: false,
      strike: async ({ between, kept }, own) => {
        let left = 0
        let before = 0
        for (let kills = 0; kills < KILLS;) {
          // Clients repeat their unanswered requests before they send new ones.
          await until('more submissions are accepted', async () => (await readLedger(own)).accepted > before + 10)
          // Of the requests of the API to Redis, only an admission has this text.
          await between.loseAnswersFrom('"description"')
          await until('Redis has carried out the admission', () => Promise.resolve(between.hasLost()))
          await kept.api.hold('SIGKILL')
          between.passAnswers()
          const { queued, accepted } = await readLedger(own)
          before = accepted
          // A repeated request adds no entry.
          if (queued > 0) kills++
          left += queued
          await until('all admissions are applied', async () => (await readLedger(own)).queued === 0)
          kept.api.letGo()
        }
        return { note: `${left} submissions were left by ${KILLS} kills` }
      },
    },
  ],
})

describeFaults('three workers', { start: () => startThreeWorkers(), rows: WORKERS_DIE })

let pieces = 0
const delayMs = (): number => EACH_WAY_MS + (++pieces % LOST_EACH === 0 ? SENT_AGAIN_AFTER_MS : 0)
const startFarAway = async () => {
  const { databaseUrl, redisUrl } = testServers()
  const [database, redis] = [await standBetween(databaseUrl, { delayMs }), await standBetween(redisUrl, { delayMs })]
  const service = await startHistoryService({ databaseUrl: database.url, redisUrl: redis.url })
  const stop = async () => {
    await service.stop()
    for (const link of [database, redis]) link.stop()
  }
  return { ...service, stop }
}

describeFaults('a service with a round trip of 100 ms to Redis and Postgres', {
  start: startFarAway,
  rows: [
    {
      fault: 'one piece in a hundred is lost on the way',
      submissions: LONG ? 600 : 60,
      refusesNone: true,
      strike: async () => {},
    },
  ],
})
