import { AGAINST_CROWDING, describeCrowding } from './workspace-loads.ts'
import { above, count, type Finding, lasts, POINTS_TO_LAST, when } from './finding.ts'
import type { Point } from './point.ts'

const OLD_SECONDS = 60
const STUCK_SECONDS = 600
/** Some work takes this long without a fault. */
const LONG_WORK_SECONDS = 10
const MS_PER_SECOND = 1_000
/** Rounded, an age may grow a little less than the time that has passed. */
const ROUNDING_SECONDS = 0.1
/**
 * While submissions are being applied, the counts of Redis and Postgres differ for a moment, but
 * not for this long. If nothing is queued, a few points are enough.
 */
const DIFFERS_FOR_MS = 60_000

/** Findings about submissions and jobs that wait too long, have failed or are missing. */
export const judgeWork = (points: readonly Point[]): Finding[] => {
  const now = points.at(-1)!
  // Workers can take no work from a Redis that takes no writes.
  const waiting = now.redisCannotWrite === true ? [] : [...judgeWaiting(points), ...judgeCrowding(now)]
  return [...waiting, ...judgeFailures(now, points), ...judgeMissing(points)]
}

const judgeWaiting = (points: readonly Point[]): Finding[] => {
  const { oldestSeconds } = points.at(-1)!
  const isStuck = growsOlder(points)
  if (isStuck && above(oldestSeconds, STUCK_SECONDS)) {
    return [
      {
        level: 'trouble',
        what: 'Work has been waiting for more than ten minutes, and no worker finishes it.',
        remedy: IF_STUCK,
      },
    ]
  }
  return [
    ...when(above(oldestSeconds, OLD_SECONDS), {
      level: 'attention',
      what: 'Work has been waiting for more than a minute.',
      remedy: `If the number of waiting submissions grows, start more workers. If it does not: ${IF_STUCK}`,
    }),
    ...when(isStuck && !above(oldestSeconds, OLD_SECONDS), {
      level: 'attention',
      what: 'The oldest waiting work gets older: no worker finishes it.',
      remedy: IF_STUCK,
    }),
  ]
}

const IF_STUCK =
  'Check whether a queue is paused or retries its jobs (/admin/queues), and check the logs of the workers (job_failed).'

/**
 * While a backlog drains, its oldest submission changes from point to point. Purges can take
 * minutes. Without a worker or Postgres nothing moves, and other findings report that.
 */
const growsOlder = (points: readonly Point[]): boolean => {
  const lately = points.slice(-POINTS_TO_LAST)
  return (
    lately.length === POINTS_TO_LAST &&
    above(lately.at(-1)!.oldestSeconds, LONG_WORK_SECONDS) &&
    lately.every(({ oldestSeconds, workers, postgresUp, purgesUnderWay, at }, place) => {
      const before = lately[place - 1]
      const passed = before ? (at - before.at) / MS_PER_SECOND : 0
      return (
        postgresUp &&
        workers !== 0 &&
        purgesUnderWay === 0 &&
        above(oldestSeconds, 0) &&
        oldestSeconds! >= (before?.oldestSeconds ?? 0) + passed - ROUNDING_SECONDS
      )
    })
  )
}

const judgeFailures = (
  { queues, dead, webhooksFailing, webhooksEnded, changesUndelivered }: Point,
  points: readonly Point[],
): Finding[] => {
  const died = (dead ?? 0) - (points.find((point) => point.dead !== null)?.dead ?? 0)
  const failed = Object.values(queues ?? {}).reduce((sum, queue) => sum + queue.failed, 0)
  return [
    ...when(died > 0, {
      level: 'attention',
      what: `${count(died, 'submission has', 'submissions have')} died lately and cannot be applied.`,
      remedy: 'The reasons: npm run dead -- list, and the log of the workers (submission_dead).',
    }),
    ...when(failed > 0, {
      level: 'attention',
      what: `${count(failed, 'job has', 'jobs have')} failed for good.`,
      remedy:
        'No submission is lost: jobs only wake workers, tag records, deliver changes and remove purged records. /admin/queues shows the jobs with their reasons.',
    }),
    ...when(above(webhooksFailing, 0), {
      level: 'attention',
      what: `${count(webhooksFailing!, 'webhook does', 'webhooks do')} not confirm deliveries.`,
      remedy: 'Workers try again for a day. The reasons: npm run webhook -- list.',
    }),
    ...when(above(webhooksEnded, 0), {
      level: 'attention',
      what: `${count(webhooksEnded!, 'webhook has', 'webhooks have')} ended.`,
      remedy: 'The reasons: npm run webhook -- list. Resume, replay or delete such a webhook.',
    }),
    ...when(above(changesUndelivered, 0), {
      level: 'attention',
      what: `Webhooks have not confirmed ${count(changesUndelivered!, 'change', 'changes')}, and have passed ${changesUndelivered === 1 ? 'it' : 'them'}.`,
      remedy:
        'The records and reasons: npm run webhook -- list. Correct the receiver, then send them again: npm run webhook -- resume ID.',
    }),
  ]
}

/** Without a worker or Postgres all workspaces wait, so no workspace delays another. */
const judgeCrowding = ({ crowding, workers, postgresUp }: Point): Finding[] =>
  crowding === null || workers === 0 || !postgresUp
    ? []
    : [
        {
          level: 'attention',
          // No figures: a screen reader would read the text again at each change.
          what: `The workspace ${crowding.name} ${describeCrowding(crowding)}, while others wait.`,
          remedy: AGAINST_CROWDING,
        },
      ]

const judgeMissing = (points: readonly Point[]): Finding[] => {
  const { at: last, missing } = points.at(-1)!
  const isIdle = lasts(points, POINTS_TO_LAST, ({ queued }) => queued === 0)
  const lately = isIdle ? points.slice(-POINTS_TO_LAST) : points.filter(({ at }) => at >= last - DIFFERS_FOR_MS)
  const isLong = isIdle || points.some(({ at }) => at <= last - DIFFERS_FOR_MS)
  const differs = lately.every((point) => (point.missing ?? []).length > 0)
  const named = (missing ?? []).map(({ name, difference }) => `${name} ${difference}`).join(', ')
  return when(isLong && differs, {
    level: 'attention',
    what: `Accepted submissions are neither queued nor finished: ${named}.`,
    remedy:
      'Compare feedback_insights_ledger by workspace in /metrics, and search the logs for failures of Redis and Postgres.',
  })
}
