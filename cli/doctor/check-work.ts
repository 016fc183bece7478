import { type Condition, conditionOf } from '../../condition/condition.ts'
import { type Finding as Judgement, findings, type Judged } from '../../condition/findings.ts'
import { type Point, pointOf } from '../../condition/point.ts'
import { REDIS_FULL_SHARE } from '../../contract/limits.ts'
import type { Ledger } from '../../contract/ledger.ts'
import { knownWorkspaces } from '../../db/known-workspaces.ts'
import type { Sql } from '../../db/postgres.ts'
import type { RedisClient } from '../../queue/connect-redis.ts'
import { closeQueues, openQueues } from '../../queue/job-queues.ts'
import { type Finding, warning, well, wrong } from './finding.ts'

/** What lasts for so many looks is no passing state. */
const LOOKS = 3
const BETWEEN_LOOKS_MS = 750
const WORKSPACES_WITHIN_MS = 5_000
const MICROSECONDS_PER_SECOND = 1_000_000

type Installation = { sql: Sql; redis: RedisClient; prefix: string; maxBacklog: number }

/** What the overview finds as well (condition/findings.ts), and how much waits. */
export const checkWork = async ({ sql, redis, prefix, maxBacklog }: Installation): Promise<Finding[]> => {
  const queues = openQueues(redis, prefix, () => {})
  try {
    const listWorkspaces = knownWorkspaces(sql, WORKSPACES_WITHIN_MS)
    const look = conditionOf({ sql, redis, prefix, listWorkspaces, queues: Object.values(queues) })
    let condition = await look()
    const points = [pointOf(condition, undefined)]
    // What would be nothing even if it lasted needs no second look.
    const mayBeIll = findings(judged(Array<Point>(LOOKS).fill(points[0]!), maxBacklog)).length > 0
    for (const _look of mayBeIll ? Array(LOOKS - 1).keys() : []) {
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_LOOKS_MS))
      const before = condition
      condition = await look()
      points.push(pointOf(condition, before))
    }
    return [
      ...tellFigures(condition, points.at(-1)!),
      ...findings(judged(points, maxBacklog)).map(fromOverview),
      ...judgeBooks(condition.ledgers ?? []),
    ]
  } finally {
    await closeQueues(queues)
  }
}

/** An API process says by itself whether it takes submissions in; this goes by the same bounds. */
const judged = (points: readonly Point[], maxBacklog: number): Judged => {
  const { redisUsedBytes, redisMaxBytes, queued } = points.at(-1)!
  const isFull = redisUsedBytes !== null && !!redisMaxBytes && redisUsedBytes >= REDIS_FULL_SHARE * redisMaxBytes
  return { points, pressure: isFull ? 'redis-memory' : (queued ?? 0) >= maxBacklog ? 'backlog' : undefined }
}

const fromOverview = ({ level, what, remedy }: Judgement): Finding =>
  level === 'trouble' ? wrong(what, remedy) : warning(what, remedy)

const tellFigures = ({ ledgers = [], at }: Condition, { waiting, workers, queued }: Point): Finding[] => {
  const oldest = Math.min(...ledgers.flatMap(({ oldestNumber }) => oldestNumber ?? []))
  const seconds = Math.round(at / 1_000 - oldest / MICROSECONDS_PER_SECOND)
  return [
    ...(waiting === null || workers === null
      ? []
      : [well(`${waiting} jobs wait; ${workers} worker processes take them.`)]),
    ...(queued === null
      ? []
      : [
          well(
            `${queued} submissions are accepted and not stored${Number.isFinite(oldest) ? `, the oldest for ${Math.max(0, seconds)} s` : ''}.`,
          ),
        ]),
  ]
}

/** The books of Redis know of less than is stored when they are older than it: a passing state only while something is being settled. */
const judgeBooks = (ledgers: readonly Ledger[]): Finding[] => {
  const behind = ledgers.filter(({ difference }) => difference < 0)
  if (behind.length === 0 || ledgers.some(({ queued }) => queued > 0)) return []
  return [
    warning(
      `In ${behind.length} workspaces more submissions are settled than Redis knows of.`,
      'Run this again: submissions that are just finishing count. If it stays, Redis lost data: look at its log and its append-only file.',
    ),
  ]
}
