import {
  DAYS_OF_WEEK,
  type Days,
  HISTORY_DAYS,
  type CountedDays,
  type KeyCount,
  LEAST_PEOPLE,
  sumOf,
} from './history.ts'

/** The people of a week, and of a mean week before. */
export type WeekChange = { subject: 'theme' | 'kind'; key: string; people: number; before: number }

const MOST_CHANGES = 5

/**
 * The themes and kinds that changed most in the last whole week, from Monday to Sunday. `weekday`: of
 * today; 0 is Monday. Compares as chance does: 4 more people are much for 1, and little for 100.
 */
export const findWeekChanges = ({ keys }: CountedDays, weekday: number): WeekChange[] => {
  const end = HISTORY_DAYS - 1 - weekday
  const byKey = Map.groupBy(keys.filter(isOfDigest), ({ subject, key }) => `${subject} ${key}`)
  const changes = [...byKey.values()].map((counts): WeekChange => {
    const { subject, key } = counts[0]!
    const weeks = counts.map(({ people }) => lastWeek(people, end))
    const people = Math.round(weeks.reduce((all, week) => all + week.people, 0))
    const before = Math.round(10 * weeks.reduce((all, week) => all + week.before, 0)) / 10
    return { subject: subject as WeekChange['subject'], key, people, before }
  })
  return changes
    .filter((change) => Math.max(change.people, change.before) >= LEAST_PEOPLE && change.people !== change.before)
    .toSorted((a, b) => sizeOf(b) - sizeOf(a) || (a.key < b.key ? -1 : 1))
    .slice(0, MOST_CHANGES)
}

const isOfDigest = ({ subject }: KeyCount): boolean => subject !== 'tag'

const lastWeek = (days: Days, end: number): { people: number; before: number } => {
  const start = end - DAYS_OF_WEEK
  const weeksBefore = Math.floor(start / DAYS_OF_WEEK)
  const before = sumOf(days, start - weeksBefore * DAYS_OF_WEEK, start)
  return { people: sumOf(days, start, end), before: before / weeksBefore }
}

const sizeOf = ({ people, before }: WeekChange): number => Math.abs(people - before) / Math.sqrt(before + 1)
