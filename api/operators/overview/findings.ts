import { REDIS_FULL_SHARE } from '../../../contract/limits.ts'
import { AGAINST_CROWDING, takesMostOf } from '../../../queue/workspace-loads.ts'
import type { Pressure } from '../../submit/pressure.ts'
import type { Point } from './point.ts'

/** Something that is not well, and what to do about it. `trouble`: work stops or is refused. `attention`: that may come. */
export type Finding = { level: 'trouble' | 'attention'; what: string; remedy: string }

export type Judged = {
  /** The latest last. */
  points: readonly Point[]
  /** Why this process takes nothing in at this moment; undefined when it does. */
  pressure: ReturnType<Pressure['current']>
}

const OLD_SECONDS = 60
const MEMORY_SHARE_TO_SEE = 0.6
const SLOW_ANSWER_SECONDS = 1
const LATE_LOOP_SECONDS = 0.5
/** A state that lasts for fewer points than this comes and goes, and is no finding. */
const POINTS_TO_LAST = 3
const POINTS_WITHOUT_WORKER = 2
const MS_PER_SECOND = 1_000
/** By so much a point is read later than its time says. */
const CLOCK_SECONDS = 0.1
/** What is just being settled makes the books differ for a moment, but not for this long. */
const DIFFERS_FOR_MS = 60_000

/** Everything that is not well, trouble first; empty when all is well. */
export const findings = ({ points, pressure }: Judged): Finding[] => {
  const now = points.at(-1)
  if (now === undefined) return []
  const found = [
    ...servers(now),
    ...processes(points, pressure),
    ...work(now, points),
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

const processes = (points: readonly Point[], pressure: Judged['pressure']): Finding[] => [
  ...when(
    // A Redis that is full takes no reports, so workers may be there that nobody hears of.
    pressure !== 'redis-memory' && lasts(points, POINTS_WITHOUT_WORKER, ({ workers }) => workers === 0),
    {
      level: 'trouble',
      what: 'No worker is running. What is accepted waits in Redis.',
      remedy:
        'Start a worker (npm run worker), with the same environment as the API. If one should run, look at its log.',
    },
  ),
  ...when(
    points.slice(-POINTS_TO_LAST).some(({ refusedForBytesPerSecond }) => above(refusedForBytesPerSecond, 0)),
    {
      level: 'attention',
      what: 'Submissions are refused with 503: an API process has too many bytes of bodies in hand.',
      remedy:
        'Look who sends many large bodies at once. Start more API processes, or raise MAX_BYTES_IN_HAND if they have the memory.',
    },
  ),
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

const work = ({ oldestSeconds, queues, dead }: Point, points: readonly Point[]): Finding[] => {
  const died = (dead ?? 0) - (points.find((point) => point.dead !== null)?.dead ?? 0)
  const failed = Object.values(queues ?? {}).reduce((sum, queue) => sum + queue.failed, 0)
  return [
    ...when(above(oldestSeconds, OLD_SECONDS), {
      level: 'attention',
      what: 'A job has been waiting for more than a minute.',
      remedy:
        'When the number of waiting jobs grows, start more workers, and see that some serve its queue (WORKER_QUEUES). When it does not, look in the queues for a job that is tried again and again.',
    }),
    ...when(isStill(points) && !above(oldestSeconds, OLD_SECONDS), {
      level: 'attention',
      what: 'The oldest job grows older: nobody is done with it.',
      remedy:
        'Look whether a worker is frozen (npm run doctor), and in the queues for a job that is tried again and again.',
    }),
    ...when(died > 0, {
      level: 'attention',
      what: `${count(died, 'submission has', 'submissions have')} died lately: they cannot be stored.`,
      remedy: 'The reasons are in the table dead_submission and in the log of the workers (submission_dead).',
    }),
    ...when(failed > 0, {
      level: 'attention',
      what: `${count(failed, 'job has', 'jobs have')} failed for good.`,
      remedy:
        'Submissions that cannot be stored end dead, and no job of theirs stays failed. These are named, with their reasons, in the queues.',
    }),
  ]
}

/** A backlog that is worked off has another oldest job at each point, and a purge may take its time. Without a worker or Postgres nothing moves, which is said already. */
const isStill = (points: readonly Point[]): boolean => {
  const lately = points.slice(-POINTS_TO_LAST)
  return (
    lately.length === POINTS_TO_LAST &&
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
  const last = points.at(-1)!.at
  const lately = points.filter(({ at }) => at >= last - DIFFERS_FOR_MS)
  const isLong = points.some(({ at }) => at <= last - DIFFERS_FOR_MS)
  // While the records of a purge are being removed, it is in no state of the ledger.
  const differs = lately.every(({ difference, purgesUnderWay }) => (difference ?? 0) > (purgesUnderWay ?? 0))
  return when(isLong && differs, {
    level: 'attention',
    what: 'Accepted submissions are missing from the books for a minute.',
    remedy:
      'Compare feedback_insights_ledger by workspace in /metrics, and look in the logs for what happened to Redis.',
  })
}

const when = (applies: boolean, finding: Finding): Finding[] => (applies ? [finding] : [])

const lasts = (points: readonly Point[], count: number, holds: (point: Point) => boolean): boolean =>
  points.length >= count && points.slice(-count).every(holds)

const above = (value: number | null, bound: number): boolean => value !== null && value > bound

const count = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`
