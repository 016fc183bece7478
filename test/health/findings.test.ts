import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { judge } from '../../health/findings.ts'
import type { Point } from '../../health/point.ts'

const MINUTE_MS = 60_000
const WELL: Point = {
  at: 10 * MINUTE_MS,
  redisUp: true,
  postgresUp: true,
  apis: 1,
  workers: 1,
  silent: 0,
  unserved: [],
  acceptedPerSecond: 5,
  refusedPerSecond: 0,
  refusedForBytesPerSecond: 0,
  bytesInHand: 0,
  bytesShare: 0,
  storedPerSecond: 5,
  taggedPerSecond: 1,
  failedPerSecond: 0,
  storageSeconds: 0.02,
  queues: { wake: { waiting: 1, active: 1, delayed: 0, failed: 0, oldestSeconds: 0.1 } },
  heaviest: [],
  crowding: null,
  waiting: 1,
  queued: 1,
  oldestSeconds: 0.1,
  dead: 3,
  difference: -1,
  missing: [],
  redisCannotWrite: false,
  redisUsedBytes: 100,
  redisMaxBytes: 1_000,
  postgresSeconds: 0.002,
  loopDelaySeconds: 0.01,
  purgesUnderWay: 0,
  purgedKeys: 0,
  webhooksFailing: 0,
  webhooksEnded: 0,
  changesUndelivered: 0,
}
/** The same point, once a minute for twenty minutes. */
const lasting = (point: Partial<Point>): Point[] =>
  Array.from({ length: 20 }, (_, minutes) => ({ ...WELL, ...point, at: WELL.at + minutes * MINUTE_MS }))
/** Good points, then points five seconds apart with these ages of the oldest work. */
const aging = (...ages: number[]): Point[] => [
  ...lasting({}),
  ...ages.map((oldestSeconds, place) => ({ ...WELL, oldestSeconds, at: WELL.at + 20 * MINUTE_MS + 5_000 * place })),
]
const missing = [
  { name: 'acme', difference: 2 },
  { name: 'b', difference: 1 },
]
/** Points 750 ms apart, with missing submissions and none queued. */
const idle = lasting({ queued: 0, difference: -5, missing }).map((point, place) => ({
  ...point,
  at: WELL.at + 750 * place,
}))
const latest = (point: Partial<Point>): Point[] => [...lasting({}), { ...WELL, ...point, at: WELL.at + 20 * MINUTE_MS }]

describe('findings', () => {
  it('are none while all is well, and before anything is known', () => {
    assert.deepEqual(judge({ points: lasting({}), pressure: undefined }), [])
    assert.deepEqual(judge({ points: [], pressure: undefined }), [])
  })

  it('tell of work that grows older, and not of a backlog that drains', () => {
    const says = (points: Point[]): string[] => judge({ points, pressure: undefined }).map(({ what }) => what)
    assert.deepEqual(says(aging(2, 7, 12.02)), ['The oldest waiting work gets older: no worker finishes it.'])
    assert.deepEqual(says(aging(20, 23, 26)), [])
    assert.deepEqual(says(aging(2, 0.1, 5)), [])
    // Young work may only be slow.
    assert.deepEqual(says(aging(0.1, 5.05, 10)), [])
  })

  const failed = { wake: { waiting: 0, active: 0, delayed: 0, failed: 2, oldestSeconds: 0 } }
  const crowding = {
    id: 'w',
    name: 'acme',
    waiting: 90,
    waitingShare: 0.9,
    oldestSeconds: 20,
    applyingShare: 0.2,
    othersSeconds: 12,
  }
  const cases: Readonly<Record<string, [points: Point[], level: 'trouble' | 'attention', says: RegExp]>> = {
    'Redis away': [latest({ redisUp: false, queues: null, workers: null }), 'trouble', /^Redis does not answer/],
    'a Redis that cannot write, not the workers that look silent and the work that waits for it': [
      lasting({ redisCannotWrite: true, silent: 1, workers: 0, unserved: ['wake'], oldestSeconds: 700, crowding }),
      'trouble',
      /^Redis cannot write its append-only file/,
    ],
    'Postgres away': [latest({ postgresUp: false, dead: null }), 'trouble', /^Postgres does not answer/],
    'no worker': [lasting({ workers: 0 }), 'trouble', /^No worker/],
    'a worker that is frozen beside others': [lasting({ silent: 1 }), 'trouble', /^1 worker is connected and silent/],
    'the only worker, frozen': [lasting({ workers: 0, silent: 1 }), 'trouble', /^1 worker is connected and silent/],
    'a queue that no worker serves': [lasting({ unserved: ['tagging'] }), 'attention', /^No worker serves tagging\./],
    'a queue with jobs that no worker serves': [lasting({ unserved: ['wake'] }), 'trouble', /^No worker serves wake\./],
    'bodies in hand': [lasting({ bytesShare: 0.5 }), 'attention', /^An API process has many bytes of bodies in hand/],
    'missing submissions while nothing is queued': [idle.slice(-3), 'attention', /nor finished: acme 2, b 1\.$/],
    'a slow Postgres': [lasting({ postgresSeconds: 1.5 }), 'attention', /^Postgres takes more than a second/],
    'a late event loop': [lasting({ loopDelaySeconds: 0.7 }), 'attention', /runs late/],
    'too many bytes in hand': [latest({ refusedForBytesPerSecond: 0.5 }), 'attention', /too many bytes of bodies/],
    'old work': [latest({ oldestSeconds: 61 }), 'attention', /more than a minute/],
    'a workspace that crowds others': [
      latest({ crowding }),
      'attention',
      /^The workspace acme has most of the waiting submissions, while/,
    ],
    'a submission that died': [latest({ dead: 4 }), 'attention', /^1 submission has died/],
    'jobs that failed': [latest({ queues: failed }), 'attention', /^2 jobs have failed/],
    'a webhook that fails': [latest({ webhooksFailing: 1 }), 'attention', /^1 webhook does not confirm/],
    'webhooks that have ended': [latest({ webhooksEnded: 2 }), 'attention', /^2 webhooks have ended/],
    'changes that a receiver refuses': [
      latest({ changesUndelivered: 2 }),
      'attention',
      /^Webhooks have not confirmed 2 changes/,
    ],
    'a Redis that fills up': [latest({ redisUsedBytes: 700 }), 'attention', /filling up/],
    'work that no worker finishes': [
      aging(599, 604, 609),
      'trouble',
      /^Work has been waiting for more than ten minutes/,
    ],
    'missing submissions beside a purge': [lasting({ missing, purgesUnderWay: 1 }), 'attention', /nor finished/],
  }
  for (const [what, [points, level, says]] of Object.entries(cases)) {
    it(`name the fault and the remedy for ${what}`, () => {
      const [finding, ...others] = judge({ points, pressure: undefined })
      assert.equal(finding?.level, level)
      assert.match(finding.what, says)
      assert.match(finding.remedy, /^[A-Z].{20,}\.$/)
      assert.deepEqual(others, [])
    })
  }

  const refusals = { 'redis-memory': /^Redis is nearly full\./, backlog: /^Too many submissions wait\./ }
  for (const pressure of ['redis-memory', 'backlog'] as const) {
    it(`say that submissions are refused because of ${pressure}`, () => {
      const [finding, ...others] = judge({ points: latest({ redisUsedBytes: 900 }), pressure })
      assert.equal(finding?.level, 'trouble')
      assert.match(finding.what, refusals[pressure])
      assert.match(finding.what, /refused with 503/)
      assert.deepEqual(others, [])
    })
  }

  it('do not take a difference of a moment for missing submissions', () => {
    assert.deepEqual(judge({ points: latest({ missing }), pressure: undefined }), [])
  })

  it('ignore a slow moment, and workers that are being replaced', () => {
    const moment = latest({ postgresSeconds: 1.5, loopDelaySeconds: 0.7, workers: 0 })
    assert.deepEqual(judge({ points: moment, pressure: undefined }), [])
  })

  it('blame no workspace for crowding while no worker runs or Postgres is away', () => {
    for (const away of [{ workers: 0 }, { postgresUp: false }]) {
      const found = judge({ points: lasting({ ...away, crowding }), pressure: undefined })
      assert.deepEqual(
        found.map(({ level }) => level),
        ['trouble'],
      )
    }
  })

  it('do not report missing workers while Redis is full', () => {
    const [finding, ...others] = judge({ points: lasting({ workers: 0 }), pressure: 'redis-memory' })
    assert.match(finding?.what ?? '', /^Redis is nearly full/)
    assert.deepEqual(others, [])
  })

  it('put trouble first', () => {
    const found = judge({
      points: lasting({ oldestSeconds: 99, loopDelaySeconds: 2, workers: 0 }),
      pressure: 'backlog',
    })
    assert.deepEqual(
      found.map(({ level }) => level),
      ['trouble', 'trouble', 'attention', 'attention'],
    )
  })
})
