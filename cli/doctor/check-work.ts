import { type Condition, createReadCondition } from '../../health/condition.ts'
import { count, type Evidence, POINTS_TO_LAST, when } from '../../health/finding.ts'
import { judge } from '../../health/findings.ts'
import { oldestOf, type Point, pointOf } from '../../health/point.ts'
import type { Ledger } from '../../contract/ledger.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import type { RedisClient } from '../../queue/redis/connect-redis.ts'
import { closeQueues, openQueues } from '../../queue/jobs/job-queues.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { isNearlyFull } from '../../queue/redis/redis-condition.ts'
import { type Checked, warning, well } from './finding.ts'

const BETWEEN_LOOKS_MS = 750
/** Another worker continues within seconds after a lease has ended. */
const STUCK_MS = 15_000
const WORKSPACES_LOOKED_AT = 1_000
/** More than an installation has. */
const ALL_LEDGERS = 2 ** 31

type Installation = { sql: Sql; redis: RedisClient; prefix: string; maxBacklog: number }

/**
 * The findings of the overview (health/), the waiting work, and findings about leases and counts.
 */
export const checkWork = async ({ sql, redis, prefix, maxBacklog }: Installation): Promise<Checked[]> => {
  const queues = openQueues(redis, prefix)
  try {
    const look = createReadCondition({
      sql,
      redis,
      prefix,
      queues: Object.values(queues),
      ledgersAtOnce: ALL_LEDGERS,
    })
    let condition = await look()
    const points = [pointOf(condition, undefined)]
    // A state that would be no finding even if it lasted needs no second look.
    const needsMoreLooks = judge(evidenceOf(Array<Point>(POINTS_TO_LAST).fill(points[0]!), maxBacklog)).length > 0
    for (const _look of needsMoreLooks ? Array(POINTS_TO_LAST - 1).keys() : []) {
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_LOOKS_MS))
      const before = condition
      condition = await look()
      points.push(pointOf(condition, before))
    }
    return [
      ...describeFigures(condition, points.at(-1)!),
      ...judge(evidenceOf(points, maxBacklog)),
      ...(await checkLeases(redis, prefix, condition)),
      ...judgeCounts(condition.ledgers ?? []),
    ]
  } finally {
    await closeQueues(queues)
  }
}

/** `pressure` follows the bounds by which API processes refuse submissions. */
const evidenceOf = (points: readonly Point[], maxBacklog: number): Evidence => {
  const { redisUsedBytes, redisMaxBytes, queued } = points.at(-1)!
  const isFull = isNearlyFull({ usedBytes: redisUsedBytes ?? 0, maxBytes: redisMaxBytes ?? 0 })
  return { points, pressure: isFull ? 'redis-memory' : (queued ?? 0) >= maxBacklog ? 'backlog' : undefined }
}

const describeFigures = (
  { logs, at }: Condition,
  { waiting, workers, queued, purgesUnderWay, redisCannotWrite }: Point,
): Checked[] => {
  const oldest = queued ? `, the oldest for ${Math.round(oldestOf(logs ?? [], at))} s` : ''
  return [
    // A Redis that takes no writes has no reports of the workers that run.
    ...(waiting === null || workers === null || redisCannotWrite === true
      ? []
      : [well(`${jobsWait(waiting)}; ${workersRun(workers)}.`)]),
    ...(queued === null ? [] : [well(`${submissionsWait(queued)}${oldest}.`)]),
    ...(purgesUnderWay ? [well(`${count(purgesUnderWay, 'purge removes', 'purges remove')} records.`)] : []),
  ]
}

const jobsWait = (jobs: number): string => count(jobs, 'job waits', 'jobs wait')
const workersRun = (workers: number): string => count(workers, 'worker process runs', 'worker processes run')
const submissionsWait = (submissions: number): string =>
  `${count(submissions, 'submission is', 'submissions are')} accepted and not applied`

/** Findings about the leases of workspaces whose logs have submissions to apply. */
const checkLeases = async (redis: RedisClient, prefix: string, { logs = [] }: Condition): Promise<Checked[]> => {
  const waiting = logs.filter(({ queued }) => queued > 0).slice(0, WORKSPACES_LOOKED_AT)
  const states = await Promise.all(
    waiting.map(({ workspaceId }) =>
      redis.hmget(workspaceKeys(prefix, workspaceId).state, 'holder', 'until', 'deaths'),
    ),
  )
  const endedBefore = Date.now() - STUCK_MS
  const stuck = states.filter(([holder, until]) => holder != null && Number(until) < endedBefore)
  const inQuarantine = states.filter(([, , deaths]) => Number(deaths ?? 0) > 0)
  return [
    ...when(
      stuck.length > 0,
      warning(
        `In ${count(stuck.length, 'workspace', 'workspaces')} a worker ended while it applied submissions, and no worker has continued.`,
        'Check that a worker runs that serves the queues wake and backlog, and read the log of the worker that ended.',
      ),
    ),
    ...when(
      inQuarantine.length > 0,
      warning(
        `In ${count(inQuarantine.length, 'workspace', 'workspaces')} a submission is suspected of ending workers. It is applied in quarantine.`,
        'Read the logs of the workers that ended. A submission that alone ends several workers becomes dead: npm run dead -- list',
      ),
    ),
  ]
}

/**
 * If Redis has lost data, Postgres has more submissions than Redis has accepted. While submissions
 * are being applied, the counts can differ for a moment.
 */
const judgeCounts = (ledgers: readonly Ledger[]): Checked[] => {
  const behind = ledgers.filter(({ difference }) => difference < 0)
  return when(
    behind.length > 0 && ledgers.every(({ queued }) => queued === 0),
    warning(
      `In ${count(behind.length, 'workspace', 'workspaces')} Postgres has more submissions than Redis has accepted.`,
      'Run the doctor again, since submissions in work can cause a difference. If the difference stays, Redis has lost data: check the log and the append-only file of Redis.',
    ),
  )
}
