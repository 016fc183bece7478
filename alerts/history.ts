/** What an alert is about. Alerts of sources and accounts are about their satisfaction. */
export const SUBJECTS = ['theme', 'kind', 'tag', 'source', 'account'] as const
export type AlertSubject = (typeof SUBJECTS)[number]

/** The latest week, and the weeks with which it is compared. */
export const WEEKS_BEFORE = 8
export const DAYS_OF_WEEK = 7
export const HISTORY_DAYS = (WEEKS_BEFORE + 1) * DAYS_OF_WEEK

/** An alert of a theme, kind, tag or source needs so many people. */
export const LEAST_PEOPLE = 5

/** A number of people for each of the `HISTORY_DAYS`; the last day is today. */
export type Days = ArrayLike<number>

/** The people of a source who spoke about a theme or kind, or who used a tag. */
export type KeyCount = { subject: 'theme' | 'kind' | 'tag'; key: string; source: string; people: Days }
/** The people of a source or of an account, with the raters and the unhappy among them. */
export type SourceCount = { source: string; people: Days; rated: Days; unhappy: Days }
export type AccountCount = { account: string; rated: Days; unhappy: Days }

/**
 * `keys`: themes, kinds, and the tags with people in the last week. `keysOf`: how many keys have at least `LEAST_PEOPLE` in
 * all days. Only these can ever ring.
 */
export type CountedDays = {
  keys: readonly KeyCount[]
  keysOf: Readonly<Record<KeyCount['subject'], number>>
  sources: readonly SourceCount[]
  accounts: readonly AccountCount[]
}

/** An earlier alert. */
export type Told = { subject: AlertSubject; key: string; daysAgo: number }

/** The sum of the days from `start` up to, but without, `end`, counted from the first day of the history. */
export const sumOf = (days: Days, start: number, end: number): number => {
  let sum = 0
  for (let day = start; day < end; day++) sum += days[day]!
  return sum
}
