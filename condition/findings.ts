import { REDIS_FULL_SHARE } from '../contract/limits.ts'
import { AGAINST_CROWDING, takesMostOf } from '../queue/workspace-loads.ts'
import type { Point } from './point.ts'

/** Something that is not well, and what to do about it. `trouble`: work stops or is refused. `attention`: that may come. */
export type Finding = { level: 'trouble' | 'attention'; what: string; remedy: string }

export type Judged = {
  /** The latest last. */
  points: readonly Point[]
  /** Why nothing is taken in at this moment; undefined when it is. */
  pressure: 'redis-memory' | 'backlog' | undefined
}

const OLD_SECONDS = 60
const STUCK_SECONDS = 600
/** A job that is younger may just take its time. */
const STILL_SECONDS = 10
/** Of the room for bodies. One workspace alone never has half of it, and is refused there. */
const BODIES_SHARE_TO_SEE = 0.4
const MEMORY_SHARE_TO_SEE = 0.6
const SLOW_ANSWER_SECONDS = 1
const LATE_LOOP_SECONDS = 0.5
/** A state that lasts for fewer points than this comes and goes, and is no finding. */
const POINTS_TO_LAST = 3
const POINTS_OF_WORKERS = 2
const MS_PER_SECOND = 1_000
/** By so much a point is read later than its time says. */
const CLOCK_SECONDS = 0.1
/** What is just being settled makes the books differ for a moment, but not for this long; while nothing is queued, a few points tell. */
const DIFFERS_FOR_MS = 60_000

/** Everything that is not well, trouble first; empty when all is well. */
export const findings = ({ points, pressure }: Judged): Finding[] => {
  const now = points.at(-1)
  if (now === undefined) return []
  const found = [
    ...servers(now),
    ...missingWorkers(points, pressure),
    ...processes(points),
    ...waiting(points),
    ...lost(now, points),
    ...crowding(now),
    ...capacity(now, pressure),
    ...books(points),
  ]
  return [...found.filter(({ level }) => level === 'trouble'), ...found.filter(({ level }) => level === 'attention')]
}

const servers = ({ redisUp, postgresUp }: Point): Finding[] => [
  ...when(!redisUp, {
    level: 'trouble',
    what: 'Redis does not answer. Submissions are refused with 503.',
    remedy: 'Look whether Redis runs and whether REDIS_URL is right. What was accepted is in its append-only file.',
  }),
  ...when(!postgresUp, {
    level: 'trouble',
    what: 'Postgres does not answer. What is accepted waits in Redis.',
    remedy:
      'Look whether Postgres runs, has connections left, and whether DATABASE_URL is right. Workers go on by themselves.',
  }),
]

/** A Redis that is full takes no reports, so workers may be there that nobody hears of. */
const missingWorkers = (points: readonly Point[], pressure: Judged['pressure']): Finding[] => {
  if (pressure === 'redis-memory') return []
  const { silent, unserved, queues } = points.at(-1)!
  const isWaiting = unserved?.some((name) => above(queues?.[name]?.waiting ?? null, 0)) === true
  return [
    ...when(
      lasts(points, POINTS_OF_WORKERS, (point) => point.workers === 0 && !above(point.silent, 0)),
      {
        level: 'trouble',
        what: 'No worker is running. What is accepted waits in Redis.',
        remedy:
          'Start a worker (npm run worker), with the same environment as the API. If one should run, look at its log.',
      },
    ),
    ...when(
      lasts(points, POINTS_OF_WORKERS, (point) => above(point.silent, 0)),
      {
        level: 'trouble',
        what: `${count(silent ?? 0, 'worker is', 'workers are')} connected and silent: frozen, or without processor time.`,
        remedy:
          'Look at its log and at what it does; end it if it does not answer. What it has in hand is delivered again within seconds.',
      },
    ),
    ...when(
      lasts(points, POINTS_OF_WORKERS, (point) => above(point.workers, 0) && point.unserved!.length > 0),
      {
        level: isWaiting ? 'trouble' : 'attention',
        what: `No worker serves ${unserved?.join(', ')}.`,
        remedy: 'Start a worker that does, or add the queues to WORKER_QUEUES of one that runs.',
      },
    ),
  ]
}

const processes = (points: readonly Point[]): Finding[] => [
  ...bodies(points),
  ...when(
    lasts(points, POINTS_TO_LAST, ({ postgresSeconds }) => above(postgresSeconds, SLOW_ANSWER_SECONDS)),
    {
      level: 'attention',
      what: 'Postgres takes more than a second to answer.',
      remedy:
        'Look for long statements in pg_stat_activity, or give each process more connections with DATABASE_CONNECTIONS.',
    },
  ),
  ...when(
    lasts(points, POINTS_TO_LAST, ({ loopDelaySeconds }) => above(loopDelaySeconds, LATE_LOOP_SECONDS)),
    {
      level: 'attention',
      what: 'A process is too busy to be punctual.',
      remedy: 'Give it more processor time, or start more API and worker processes.',
    },
  ),
]

const bodies = (points: readonly Point[]): Finding[] => {
  const isRefused = points.slice(-POINTS_TO_LAST).some((point) => above(point.refusedForBytesPerSecond, 0))
  const isMuch = lasts(points, POINTS_TO_LAST, ({ bytesShare }) => above(bytesShare, BODIES_SHARE_TO_SEE))
  return when(isRefused || isMuch, {
    level: 'attention',
    what: isRefused
      ? 'Submissions are refused with 503: an API process has too many bytes of bodies in hand.'
      : 'An API process has many bytes of bodies in hand. When it has too many, submissions are refused with 503.',
    remedy:
      'Look who sends many large bodies at once. Start more API processes, or raise MAX_BYTES_IN_HAND if they have the memory.',
  })
}

const waiting = (points: readonly Point[]): Finding[] => {
  const { oldestSeconds } = points.at(-1)!
  const isGrowing = isStill(points)
  if (isGrowing && above(oldestSeconds, STUCK_SECONDS)) {
    return [{ level: 'trouble', what: 'A job waits for more than ten minutes: nobody is done with it.', remedy: STILL }]
  }
  return [
    ...when(above(oldestSeconds, OLD_SECONDS), {
      level: 'attention',
      what: 'A job has been waiting for more than a minute.',
      remedy: `When the number of waiting jobs grows, start more workers. When it does not: ${STILL}`,
    }),
    ...when(isGrowing && !above(oldestSeconds, OLD_SECONDS), {
      level: 'attention',
      what: 'The oldest job grows older: nobody is done with it.',
      remedy: STILL,
    }),
  ]
}

const STILL =
  'Look whether its queue is paused or it is tried again and again (/admin/queues), and what the workers log (job_failed).'

/** A backlog that is worked off has another oldest job at each point, and a purge may take its time. Without a worker or Postgres nothing moves, which is said already. */
const isStill = (points: readonly Point[]): boolean => {
  const lately = points.slice(-POINTS_TO_LAST)
  return (
    lately.length === POINTS_TO_LAST &&
    above(lately.at(-1)!.oldestSeconds, STILL_SECONDS) &&
    lately.every(({ oldestSeconds, workers, postgresUp, purgesUnderWay, at }, place) => {
      const before = lately[place - 1]
      const passed = before ? (at - before.at) / MS_PER_SECOND : 0
      return (
        postgresUp &&
        workers !== 0 &&
        purgesUnderWay === 0 &&
        above(oldestSeconds, 0) &&
        oldestSeconds! >= (before?.oldestSeconds ?? 0) + passed - CLOCK_SECONDS
      )
    })
  )
}

const lost = ({ queues, dead }: Point, points: readonly Point[]): Finding[] => {
  const died = (dead ?? 0) - (points.find((point) => point.dead !== null)?.dead ?? 0)
  const failed = Object.values(queues ?? {}).reduce((sum, queue) => sum + queue.failed, 0)
  return [
    ...when(died > 0, {
      level: 'attention',
      what: `${count(died, 'submission has', 'submissions have')} died lately: they cannot be stored.`,
      remedy: 'The reasons: npm run dead -- list, and the log of the workers (submission_dead).',
    }),
    ...when(failed > 0, {
      level: 'attention',
      what: `${count(failed, 'job has', 'jobs have')} failed for good.`,
      remedy:
        'Submissions that cannot be stored end dead, and no job of theirs stays failed. These are named, with their reasons, in the queues.',
    }),
  ]
}

/** Without a worker or Postgres everybody waits, and nobody is in anybody's way. */
const crowding = ({ crowding: by, workers, postgresUp }: Point): Finding[] =>
  by === null || workers === 0 || !postgresUp
    ? []
    : [
        {
          level: 'attention',
          // No figures: whoever listens to the page would hear it anew with each of them.
          what: `The workspace ${by.name} ${takesMostOf(by)}, while others wait.`,
          remedy: AGAINST_CROWDING,
        },
      ]

const capacity = ({ redisUsedBytes, redisMaxBytes }: Point, pressure: Judged['pressure']): Finding[] => {
  const isFilling =
    redisUsedBytes !== null && above(redisMaxBytes, 0) && redisUsedBytes > MEMORY_SHARE_TO_SEE * redisMaxBytes!
  return [
    ...when(pressure === 'redis-memory', {
      level: 'trouble',
      what: 'Redis is nearly full. Submissions are refused with 503.',
      remedy: 'Workers go on and make room. Start more of them, or raise maxmemory.',
    }),
    ...when(pressure === 'backlog', {
      level: 'trouble',
      what: 'Too much is waiting. Submissions are refused with 503.',
      remedy: 'Start more workers, or raise MAX_BACKLOG if Redis has the memory.',
    }),
    ...when(isFilling && pressure === undefined, {
      level: 'attention',
      what: `Redis is filling up. At ${REDIS_FULL_SHARE * 100} % submissions are refused.`,
      remedy: 'Start more workers, or raise maxmemory.',
    }),
  ]
}

const books = (points: readonly Point[]): Finding[] => {
  const { at: last, missing } = points.at(-1)!
  const isIdle = lasts(points, POINTS_TO_LAST, ({ queued }) => queued === 0)
  const lately = isIdle ? points.slice(-POINTS_TO_LAST) : points.filter(({ at }) => at >= last - DIFFERS_FOR_MS)
  const isLong = isIdle || points.some(({ at }) => at <= last - DIFFERS_FOR_MS)
  // While the records of a purge are being removed, it is in no state of the ledger.
  const differs = lately.every(({ difference, purgesUnderWay }) => (difference ?? 0) > (purgesUnderWay ?? 0))
  return when(isLong && differs, {
    level: 'attention',
    what: `Accepted submissions are missing from the books: ${(missing ?? []).map(({ name, difference }) => `${name} ${difference}`).join(', ')}.`,
    remedy:
      'Compare feedback_insights_ledger by workspace in /metrics, and look in the logs for what happened to Redis and Postgres.',
  })
}

const when = (applies: boolean, finding: Finding): Finding[] => (applies ? [finding] : [])

const lasts = (points: readonly Point[], count: number, holds: (point: Point) => boolean): boolean =>
  points.length >= count && points.slice(-count).every(holds)

const above = (value: number | null, bound: number): boolean => value !== null && value > bound

const count = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`
