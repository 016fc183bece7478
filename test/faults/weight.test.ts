import assert from 'node:assert/strict'
import process from 'node:process'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { connectPostgres } from '../../db/postgres.ts'
import { makeAttackers } from '../support/attackers.ts'
import { startBystander } from '../support/bystander.ts'
import { DEAREST } from '../support/dearest-bodies.ts'
import { testServers } from '../support/servers.ts'
import { type Service, startService } from '../support/service.ts'
import { startProcess } from '../support/service-process.ts'
import { until } from '../support/until.ts'
import {
  describeWaits,
  DRAINED_WITHIN_MS,
  endsBadly,
  ledgersOf,
  makeLeaver,
  purge,
  tell,
  untilDrained,
  whatIsSlow,
  whatIsWrong,
} from '../support/weighing.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
/** For so long attackers send, or until each has sent so much, which one that is stored at 1 MB a second works off in seconds. */
const ATTACK_SECONDS = LONG ? 60 : 4
const MOST_BYTES = LONG ? 100_000_000 : 2_000_000
const MOST_SUBMISSIONS = LONG ? 50_000 : 5_000
/**
 * Of each attacker: with small bodies they spend most of their time in waiting for answers, and an API process, which is one thread, was
 * busy with 48. What waits in its sockets beyond has not reached this service.
 */
const CONNECTIONS = LONG ? 16 : 8
const CALM_MS = 2_000
const BACKLOG = LONG ? 200_000 : 20_000
const BACKLOG_CONNECTIONS = 32
/** Ordinary feedback of workspaces that are slow for another reason: of each more than one statement takes. */
const SLOW: readonly string[] = ['feedback of one email', 'feedback of one email', 'feedback of one email']
const SLOWLY = { connections: CONNECTIONS, seconds: 60, most: 400, mostBytes: Number.MAX_SAFE_INTEGER }
const LOCKS_TIMEOUT_MS = 10_000
/** For so long, and more, each of their statements waits: in the long test, for longer than a statement may take. */
const LOCKED_MS = LONG ? 70_000 : 5_000
/** At full size a statement of 250 takes longer than it may. */
const SLOW_ROW_SECONDS = LONG ? 0.3 : 0.02

const ONE_BY_ONE: readonly string[] = [
  'contacts with as many keys as there may be',
  'one contact with as many keys, new ones each time',
  'as many and as long tags as there may be, new ones each time',
  'one contact with the longest values, under new keys each time',
]
const AT_ONCE: readonly (readonly string[])[] = [
  [
    'one contact as large as a body may be, with new keys each time',
    'an email with much feedback that two contacts claim in turn',
    'one conversation of a thousand messages, over and over',
  ],
  [
    'contacts as large as a body may be',
    'a domain with many feedback that two accounts claim in turn',
    'conversations of a thousand contacts',
  ],
  [
    'dotted keys as deep as they may be',
    'contacts that feedback waits for, all with one email',
    'conversations of a thousand messages',
  ],
  [
    'one feedback that is replaced by one of somebody else',
    'one external id in ever more sources',
    'feedback of one email',
  ],
]
/** What was found to be the dearest, three at a time. */
const DEAREST_AT_ONCE = Array.from({ length: LONG ? Math.ceil(DEAREST.length / 3) : 1 }, (_, group) =>
  DEAREST.slice(3 * group, 3 * group + 3).map(({ title }) => title),
)

describe('the weight of some workspaces', () => {
  for (const attack of ONE_BY_ONE) {
    for (const workers of LONG ? [1, 2] : [1]) {
      it(`falls on themselves, with ${workers} worker(s): ${attack}`, () =>
        isHarmless(workers, [attack, attack, attack]))
    }
  }
  for (const [place, attacks] of [...AT_ONCE, ...DEAREST_AT_ONCE].entries()) {
    for (const workers of LONG ? [1, 2] : [1 + (place % 2)]) {
      it(`falls on themselves, with ${workers} worker(s): ${attacks.join('; ')}`, () => isHarmless(workers, attacks))
    }
  }

  it(`falls on themselves when ${BACKLOG} feedback of one email came while workers were away`, async () => {
    await withService(0, async (service) => {
      const bounds = {
        connections: BACKLOG_CONNECTIONS,
        seconds: 600,
        most: BACKLOG,
        mostBytes: Number.MAX_SAFE_INTEGER,
      }
      const attackers = await makeAttackers(service, ['feedback of one email'])
      const reports = await attackers.send(bounds)
      const worker = await startProcess('worker/main.ts', 'working', { ...service.environment })
      try {
        const bystander = startBystander(service, DRAINED_WITHIN_MS)
        const drained = await untilDrained(service, attackers)
        const waits = await bystander.stop()
        tell('after a backlog', { waits, reports, drained })
        assert.deepEqual(
          [...whatIsWrong(waits, drained), ...(await endsBadly(service, attackers, { reports, drained }))],
          [],
        )
      } finally {
        await worker.stop()
      }
    })
  })

  it(`falls on themselves when each of their statements waits for ${LOCKED_MS / 1_000} s`, () =>
    withService(1, async (service) => {
      const slow = await makeAttackers(service, SLOW)
      const locks = connectPostgres(testServers().databaseUrl, {
        connections: 1,
        statementTimeoutMs: LOCKS_TIMEOUT_MS,
        applicationName: 'feedback-insights-test',
      })
      try {
        // Until the connection ends, no statement gets the rows that hold their positions.
        await locks.unsafe('begin')
        await locks.unsafe(
          `select from ${service.redisPrefix}.workspace_progress where workspace_id = any ($1) for update`,
          [slow.workspaceIds as string[]],
        )
        const bystander = startBystander(service, DRAINED_WITHIN_MS)
        const startedAt = performance.now()
        const reports = await slow.send(SLOWLY)
        await pause(LOCKED_MS)
        await locks.end({ timeout: 5 })
        const drained = await untilDrained(service, slow)
        const waits = await bystander.stop()
        tell('while others wait for locks', { waits, reports, drained })
        const tookMs = performance.now() - startedAt
        assert.deepEqual([...whatIsWrong(waits, tookMs), ...(await endsBadly(service, slow, { reports, drained }))], [])
      } finally {
        await locks.end({ timeout: 5 })
      }
    }))

  it(`falls on themselves when each of their rows takes ${SLOW_ROW_SECONDS} s`, () =>
    withService(1, async (service) => {
      const { sql } = service
      const slow = await makeAttackers(service, SLOW)
      await sql`
        create function is_slow() returns trigger language plpgsql as $$
        begin perform pg_sleep(tg_argv[0]::float); return new; end $$`
      for (const [place, id] of slow.workspaceIds.entries()) {
        await sql.unsafe(`
          create trigger slow_${place} before insert on feedback for each row when (new.workspace_id = '${id}')
          execute function is_slow(${SLOW_ROW_SECONDS})`)
      }
      const bystander = startBystander(service, DRAINED_WITHIN_MS)
      const startedAt = performance.now()
      const reports = await slow.send(SLOWLY)
      const drained = await untilDrained(service, slow)
      const waits = await bystander.stop()
      tell('while the rows of others are slow', { waits, reports, drained })
      assert.deepEqual(
        [
          ...whatIsWrong(waits, performance.now() - startedAt),
          ...(await endsBadly(service, slow, { reports, drained })),
        ],
        [],
      )
    }))
})

const withService = async (workers: number, work: (service: Service) => Promise<void>): Promise<void> => {
  const service = await startService({ workers })
  try {
    await work(service)
  } catch (error) {
    // A worker whose statement goes on for long may not end cleanly; what that statement did to others is the failure to be told.
    await service.stop().catch(() => {})
    throw error
  }
  await service.stop()
}

const isHarmless = (workers: number, attacks: readonly string[]): Promise<void> =>
  withService(workers, async (service) => {
    const leaver = await makeLeaver(service)
    const before = startBystander(service, DRAINED_WITHIN_MS)
    await pause(CALM_MS)
    const calm = await before.stop()
    const bystander = startBystander(service, DRAINED_WITHIN_MS)
    const bounds = { connections: CONNECTIONS, seconds: ATTACK_SECONDS, most: MOST_SUBMISSIONS, mostBytes: MOST_BYTES }
    const attackers = await makeAttackers(service, attacks)
    const startedAt = performance.now()
    const sending = attackers.send(bounds)
    await until('an attacker is heard', async () =>
      (await ledgersOf(service, attackers)).some(({ accepted }) => accepted > 0),
    )
    const [purged, reports] = await Promise.all([purge(service, leaver), sending])
    const drained = await untilDrained(service, attackers)
    const tookMs = performance.now() - startedAt
    const waits = await bystander.stop()
    tell(`calm: ${describeWaits(calm)}; under attack`, { waits, reports, drained, purged })
    const wrong = [
      ...whatIsWrong(waits, tookMs),
      ...whatIsSlow(purged, tookMs),
      ...(await endsBadly(service, attackers, { reports, drained })),
    ]
    assert.deepEqual(wrong, [], `without an attack: ${describeWaits(calm)}`)
  })
