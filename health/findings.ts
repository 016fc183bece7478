import { REDIS_FULL_SHARE } from '../contract/limits.ts'
import { above, count, type Finding, type Evidence, lasts, POINTS_TO_LAST, when } from './finding.ts'
import type { Point } from './point.ts'
import { judgeWork } from './work-findings.ts'

/**
 * A share of MAX_BYTES_IN_HAND. It is below one half: from one half on, the API refuses more bodies
 * of a single workspace.
 */
const BODIES_SHARE_TO_SEE = 0.4
const MEMORY_SHARE_TO_SEE = 0.6
const SLOW_ANSWER_SECONDS = 1
const LATE_LOOP_SECONDS = 0.5
/** One point without a worker is no fault: workers are replaced. */
const WORKER_POINTS_TO_LAST = 2

/** All findings, trouble first. Empty if all is well. */
export const judge = ({ points, pressure }: Evidence): Finding[] => {
  const now = points.at(-1)
  if (now === undefined) return []
  const found = [
    ...judgeServers(now),
    ...judgeWorkers(points, pressure),
    ...judgeProcesses(points),
    ...judgeWork(points),
    ...judgeCapacity(now, pressure),
  ]
  return [...found.filter(({ level }) => level === 'trouble'), ...found.filter(({ level }) => level === 'attention')]
}

/** The doctor says the same of a server of Redis. */
export const REDIS_CANNOT_WRITE: Finding = {
  level: 'trouble',
  what: 'Redis cannot write its append-only file, and refuses all writes. Submissions are refused with 503.',
  remedy: 'Check the disk and the log of Redis; a full disk is the usual reason. Then Redis goes on by itself.',
}

const judgeServers = ({ redisUp, redisCannotWrite, postgresUp }: Point): Finding[] => [
  ...when(redisCannotWrite === true, REDIS_CANNOT_WRITE),
  ...when(!redisUp, {
    level: 'trouble',
    what: 'Redis does not answer. Submissions are refused with 503.',
    remedy: 'Check that Redis runs and that REDIS_URL is right. Its append-only file has the submissions that wait.',
  }),
  ...when(!postgresUp, {
    level: 'trouble',
    what: 'Postgres does not answer. Accepted submissions wait in Redis.',
    remedy:
      'Check that Postgres runs, has free connections, and that DATABASE_URL is right. Workers then go on by themselves.',
  }),
]

/** A Redis that is full, or cannot write, takes no reports. So running workers look missing. */
const judgeWorkers = (points: readonly Point[], pressure: Evidence['pressure']): Finding[] => {
  if (pressure === 'redis-memory' || points.at(-1)!.redisCannotWrite === true) return []
  const { silent, unserved, queues } = points.at(-1)!
  // A worker that serves the queue ends the delay of its jobs.
  const isWaiting = (unserved ?? []).some((name) => {
    const { waiting = 0, delayed = 0 } = queues?.[name] ?? {}
    return waiting + delayed > 0
  })
  return [
    ...when(
      lasts(points, WORKER_POINTS_TO_LAST, (point) => point.workers === 0 && !above(point.silent, 0)),
      {
        level: 'trouble',
        what: 'No worker is running. Accepted submissions wait in Redis.',
        remedy:
          'Start a worker (npm run worker) with the same environment as the API. If one should be running, check its log.',
      },
    ),
    ...when(
      lasts(points, WORKER_POINTS_TO_LAST, (point) => above(point.silent, 0)),
      {
        level: 'trouble',
        what: `${count(silent ?? 0, 'worker is', 'workers are')} connected and silent: frozen, or without processor time.`,
        remedy:
          'Check the log and the processor time of each silent worker. End a worker that does not answer: another worker takes over within seconds.',
      },
    ),
    ...when(
      lasts(points, WORKER_POINTS_TO_LAST, (point) => above(point.workers, 0) && point.unserved!.length > 0),
      {
        level: isWaiting ? 'trouble' : 'attention',
        what: `No worker serves ${unserved?.join(', ')}.`,
        remedy: 'Start a worker for these queues, or add them to WORKER_QUEUES of a running worker.',
      },
    ),
  ]
}

const judgeProcesses = (points: readonly Point[]): Finding[] => [
  ...judgeBodies(points),
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
      what: 'The event loop of a process runs late.',
      remedy: 'Give the process more processor time, or start more API and worker processes.',
    },
  ),
]

const judgeBodies = (points: readonly Point[]): Finding[] => {
  const isRefused = points.slice(-POINTS_TO_LAST).some((point) => above(point.refusedForBytesPerSecond, 0))
  const isMuch = lasts(points, POINTS_TO_LAST, ({ bytesShare }) => above(bytesShare, BODIES_SHARE_TO_SEE))
  return when(isRefused || isMuch, {
    level: 'attention',
    what: isRefused
      ? 'Submissions are refused with 503: an API process has too many bytes of bodies in hand.'
      : 'An API process has many bytes of bodies in hand. When it has too many, submissions are refused with 503.',
    remedy:
      'Find the client that sends many large bodies at the same time. Start more API processes, or raise MAX_BYTES_IN_HAND if they have the memory.',
  })
}

const judgeCapacity = ({ redisUsedBytes, redisMaxBytes }: Point, pressure: Evidence['pressure']): Finding[] => {
  const isFilling =
    redisUsedBytes !== null && above(redisMaxBytes, 0) && redisUsedBytes > MEMORY_SHARE_TO_SEE * redisMaxBytes!
  return [
    ...when(pressure === 'redis-memory', {
      level: 'trouble',
      what: 'Redis is nearly full. Submissions are refused with 503.',
      remedy: 'Workers go on and free memory. Start more workers, or raise maxmemory.',
    }),
    ...when(pressure === 'backlog', {
      level: 'trouble',
      what: 'Too many submissions wait. New ones are refused with 503.',
      remedy: 'Start more workers, or raise MAX_BACKLOG if Redis has the memory.',
    }),
    ...when(isFilling && pressure === undefined, {
      level: 'attention',
      what: `Redis is filling up. At ${REDIS_FULL_SHARE * 100} % of maxmemory, submissions are refused.`,
      remedy: 'Start more workers, or raise maxmemory.',
    }),
  ]
}
