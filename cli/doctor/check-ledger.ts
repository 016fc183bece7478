import { type BookTotals, type Ledger, ledgersOf } from '../../contract/ledger.ts'
import { readSettledTotals } from '../../db/submissions/ledger.ts'
import { listWorkspaces, type Workspace } from '../../db/workspaces.ts'
import { readBookTotals } from '../../queue/book-totals.ts'
import type { RedisClient } from '../../queue/connect-redis.ts'
import type { Sql } from '../../db/postgres.ts'
import { type ProcessReport, processReportsIn } from '../../queue/process-reports.ts'
import { AGAINST_CROWDING, crowdingIn, takesMostOf, workspaceLoads } from '../../queue/workspace-loads.ts'
import { type Finding, warning, well, wrong } from './finding.ts'

const MICROSECONDS_PER_SECOND = 1_000_000
const MS_PER_SECOND = 1_000
/** Submissions wait longer only when more than a burst came in. */
const SLOW_SECONDS = 60
/** What is as old as this, and is still the oldest a little later, is worked on by nobody, or for long. */
const STILL_SECONDS = 10
const LOOK_AGAIN_AFTER_MS = 2_000
const STUCK_SECONDS = 600
/** Of the room for bodies; one workspace alone never has half of it, and is refused there. */
const MUCH_IN_HAND = 0.4

/**
 * How many submissions are accepted and not settled, for how long, whether one workspace crowds others or large bodies do, and whether any
 * are missing.
 */
export const checkLedger = async (sql: Sql, redis: RedisClient, prefix: string): Promise<Finding[]> => {
  const workspaces = (await listWorkspaces(sql)).filter(({ isBeingDeleted }) => !isBeingDeleted)
  const ids = workspaces.map(({ id }) => id)
  const books = await readBookTotals(redis, prefix, ids)
  const ledgers = ledgersOf(books, await readSettledTotals(sql))
  const processes = await processReportsIn(redis, prefix).read()
  const isStill =
    secondsOf(ledgers) >= STILL_SECONDS && (await isStillAfter(LOOK_AGAIN_AFTER_MS, { redis, prefix, ledgers }))
  return [
    judgeWaiting(ledgers, isStill),
    ...judgeCrowding({ workspaces, ledgers, processes }),
    ...judgeBodies(processes),
    ...judgeMissing(ledgers),
  ]
}

const oldestOf = (ledgers: readonly BookTotals[]): number =>
  Math.min(...ledgers.flatMap(({ oldestNumber }) => oldestNumber ?? []))

const secondsOf = (ledgers: readonly Ledger[]): number => {
  const oldest = oldestOf(ledgers)
  return Number.isFinite(oldest) ? Math.max(0, Date.now() / MS_PER_SECOND - oldest / MICROSECONDS_PER_SECOND) : 0
}

type Books = { redis: RedisClient; prefix: string; ledgers: readonly Ledger[] }

const isStillAfter = async (ms: number, { redis, prefix, ledgers }: Books): Promise<boolean> => {
  await new Promise((resolve) => setTimeout(resolve, ms))
  const ids = ledgers.map(({ workspaceId }) => workspaceId)
  return oldestOf(await readBookTotals(redis, prefix, ids)) === oldestOf(ledgers)
}

const judgeWaiting = (ledgers: readonly Ledger[], isStill: boolean): Finding => {
  const queued = sumQueued(ledgers)
  const seconds = secondsOf(ledgers)
  const age = queued === 0 ? '' : `, the oldest for ${Math.round(seconds)} s${isStill ? ' and growing older' : ''}`
  const text = `${queued} submissions are accepted and not stored${age}.`
  const remedy = isStill
    ? 'See whether workers are frozen or try one submission again and again: what they log, and the queues in /admin/queues.'
    : 'See that workers run, and what they log; more workers share the work.'
  if (seconds >= STUCK_SECONDS) return wrong(text, remedy)
  return isStill || seconds >= SLOW_SECONDS ? warning(text, remedy) : well(text)
}

type Seen = { workspaces: readonly Workspace[]; ledgers: readonly Ledger[]; processes: readonly ProcessReport[] }

const judgeCrowding = ({ workspaces, ledgers, processes }: Seen): Finding[] => {
  // Without a worker everybody waits, and nobody is in anybody's way.
  if (!processes.some(({ kind }) => kind === 'worker')) return []
  const by = crowdingIn(workspaceLoads({ workspaces, books: ledgers, processes, nowMs: Date.now() }))
  if (by === undefined) return []
  const { name, id, waiting, oldestSeconds, laneShare, othersSeconds } = by
  const itself = `${waiting} submissions, the oldest for ${Math.round(oldestSeconds)} s, and ${Math.round(100 * laneShare)} % of the lanes`
  const text = `The workspace ${name} (${id}) ${takesMostOf(by)}: ${itself}. Others wait for up to ${Math.round(othersSeconds)} s.`
  return [warning(text, AGAINST_CROWDING)]
}

const judgeBodies = (processes: readonly ProcessReport[]): Finding[] => {
  const full = processes.filter(({ bodies: { bytes, mostBytes } }) => bytes > MUCH_IN_HAND * mostBytes)
  if (full.length === 0) return []
  const text = `${full.length} API processes have more than ${100 * MUCH_IN_HAND} % of the bytes of bodies in hand that they may; whoever sends so much is refused with 503.`
  return [
    warning(text, 'Look who sends many large bodies at once. Start more API processes, or raise MAX_BYTES_IN_HAND.'),
  ]
}

const judgeMissing = (ledgers: readonly Ledger[]): Finding[] => {
  const missing = ledgers.filter(({ difference }) => difference !== 0)
  if (missing.length === 0 || sumQueued(ledgers) > 0) return []
  return [
    warning(
      `In ${missing.length} workspaces accepted submissions and those that are settled differ, while nothing is queued.`,
      'Run this again: submissions that are just finishing count. If it stays, Redis or Postgres lost data.',
    ),
  ]
}

const sumQueued = (ledgers: readonly Ledger[]): number => ledgers.reduce((sum, { queued }) => sum + queued, 0)
