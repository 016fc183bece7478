import { randomUUID } from 'node:crypto'
import { findWeekChanges } from '../../alerts/digest.ts'
import { findAlerts, LEAST_RATED } from '../../alerts/find-alerts.ts'
import {
  type AccountCount,
  DAYS_OF_WEEK,
  HISTORY_DAYS,
  type CountedDays,
  type KeyCount,
  LEAST_PEOPLE,
  type SourceCount,
  type AlertSubject,
} from '../../alerts/history.ts'
import {
  type AlertLook,
  countAlertDay,
  countAlertKeys,
  listDueLooks,
  listEarlierAlerts,
  type LookDays,
  markStaleDays,
  type NewDigest,
  postponeLook,
  readAlertCounts,
  readLook,
  type StoredCount,
  storeLook,
} from '../../db/alerts.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import type { MaintenanceTask } from '../capability.ts'

const MS_PER_DAY = 86_400_000
const MONDAY = 1
/** A step of marking reads some thousand changes, and a step of counting at most a day. */
const [MOST_MARKING, MOST_COUNTING] = [20, 16]

/** The workspaces of one run. Looks take some milliseconds, or seconds after many changes. */
const LOOKS_AT_ONCE = 20

export const lookDue: MaintenanceTask = {
  name: 'look-for-alerts',
  everyMs: 5_000,
  run: async ({ sql }) => ({ alerts: await lookWhereDue(sql) }),
}

/** Looks for alerts in workspaces with new texts. A look that fails does not stop those of others. */
const lookWhereDue = async (sql: Sql): Promise<number> => {
  const faults: unknown[] = []
  let alerts = 0
  for (const workspaceId of await listDueLooks(sql, LOOKS_AT_ONCE))
    try {
      alerts += await lookForAlerts(sql, workspaceId)
    } catch (error) {
      faults.push(error)
      await postponeLook(sql, workspaceId)
    }
  if (faults.length > 0) throw new AggregateError(faults, 'Looks for alerts failed')
  return alerts
}

/**
 * Looks for alerts in a workspace, and makes the digest of the last week if there is none. A long way to
 * go takes several looks: the next one continues. Returns how many alerts it has stored.
 */
export const lookForAlerts = async (sql: Sql, workspaceId: string): Promise<number> => {
  const first = await readLook(sql, workspaceId)
  if (first === undefined) return 0
  const days: LookDays = { workspaceId, firstDay: addDays(first.today, 1 - HISTORY_DAYS), today: first.today }
  for (let step = 1; await markStaleDays(sql, days); step++) if (step === MOST_MARKING) return 0
  const look = await readLook(sql, workspaceId)
  if (look === undefined) return 0
  for (const day of look.staleDays.slice(0, MOST_COUNTING)) await countAlertDay(sql, workspaceId, day)
  if (look.staleDays.length > MOST_COUNTING) return 0
  const history = toHistory(
    await readAlertCounts(sql, days, Math.min(LEAST_PEOPLE, LEAST_RATED)),
    await countAlertKeys(sql, days, LEAST_PEOPLE),
  )
  const earlier = await listEarlierAlerts(sql, days)
  const told = earlier.map((alert) => ({ ...alert, subject: alert.subject as AlertSubject }))
  const alerts = findAlerts(history, told).map(({ subject, change, key, days: compared, people, expected }) => ({
    id: randomUUID(),
    subject,
    change,
    key,
    days: compared,
    people,
    expected: Math.round(100 * expected) / 100,
  }))
  const isStored = await storeLook(sql, days, {
    looks: first.looks,
    texts: first.texts,
    alerts,
    digest: digestOf(history, look),
  })
  return isStored ? alerts.length : 0
}

const addDays = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * MS_PER_DAY).toISOString().slice(0, 'YYYY-MM-DD'.length)

/** The digest of the last whole week, if there is something to say, and no digest yet. */
const digestOf = (history: CountedDays, { today, digestWeek }: AlertLook): NewDigest | undefined => {
  const weekday = (new Date(today).getUTCDay() + DAYS_OF_WEEK - MONDAY) % DAYS_OF_WEEK
  const week = addDays(today, -weekday - DAYS_OF_WEEK)
  if (digestWeek === week) return undefined
  const changes = findWeekChanges(history, weekday)
  return changes.length === 0 ? undefined : { id: randomUUID(), week, changes }
}

const toHistory = (stored: readonly StoredCount[], keysOf: ReadonlyMap<string, number>): CountedDays => {
  const bySubject = Map.groupBy(stored, ({ subject }) => subject)
  const countsOf = (subject: string): readonly StoredCount[] => bySubject.get(subject) ?? []
  const bySource = (subject: string) => new Map(countsOf(subject).map((count) => [count.source, daysOf(count)]))
  const byKey = (subject: string) => new Map(countsOf(subject).map((count) => [count.key, daysOf(count)]))
  const [rated, unhappy, unhappyAccounts] = [bySource('rated'), bySource('unhappy'), byKey('account unhappy')]
  return {
    keys: (['theme', 'kind', 'tag'] as const).flatMap((subject) =>
      countsOf(subject).map((count): KeyCount => ({
        subject,
        key: count.key,
        source: count.source,
        people: daysOf(count),
      })),
    ),
    keysOf: { theme: keysOf.get('theme') ?? 0, kind: keysOf.get('kind') ?? 0, tag: keysOf.get('tag') ?? 0 },
    sources: [...bySource('people')].map(([source, people]): SourceCount => ({
      source,
      people,
      rated: rated.get(source) ?? NO_DAYS,
      unhappy: unhappy.get(source) ?? NO_DAYS,
    })),
    accounts: [...byKey('account rated')].map(([account, days]): AccountCount => ({
      account,
      rated: days,
      unhappy: unhappyAccounts.get(account) ?? NO_DAYS,
    })),
  }
}

const NO_DAYS = new Float64Array(HISTORY_DAYS)

const daysOf = ({ days, people }: StoredCount): Float64Array => {
  const all = new Float64Array(HISTORY_DAYS)
  for (const [at, day] of days.entries()) all[day] = people[at]!
  return all
}
