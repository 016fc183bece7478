import { compare, type WindowComparison, type SourceWindow, type Stratum, windowOf } from './compare.ts'
import {
  DAYS_OF_WEEK,
  type Days,
  HISTORY_DAYS,
  type CountedDays,
  type KeyCount,
  LEAST_PEOPLE,
  type AlertSubject,
  sumOf,
  type Told,
} from './history.ts'
import { logTailOfBetaBinomial } from './rarity.ts'

/**
 * `new`: hardly any of the people were to be expected. `grown`: more people than before. `unhappy`: the ratings of
 * a source fall, or an account turns from satisfied to unhappy.
 */
export type AlertChange = 'new' | 'grown' | 'unhappy'

/** `people` in the last `days`, and how many were to be expected by the weeks before. */
export type FoundAlert = {
  subject: AlertSubject
  key: string
  change: AlertChange
  days: number
  people: number
  expected: number
  logRarity: number
}

/**
 * The false alarms that a workspace may have in a quarter, of all keys and looks together, and how the
 * subjects share them. The simulation shows how many there are: fewer, since few keys are near a bound.
 */
const ALLOWED_IN_A_QUARTER = 0.95
const SHARES: Readonly<Record<AlertSubject, number>> = { theme: 0.4, kind: 0.1, tag: 0.2, source: 0.15, account: 0.15 }
const DAYS_OF_QUARTER = 91

const WINDOWS = [1, 3, DAYS_OF_WEEK]
const WINDOWS_OF_ACCOUNTS = [DAYS_OF_WEEK, 4 * DAYS_OF_WEEK]
/** Of something new, at most this share of its people was to be expected. */
const MOST_EXPECTED_OF_NEW = 0.1
/** What was told is not told again for so many days. */
const REST_DAYS = 28
/** One event brings many tags. */
const MOST_TAGS_OF_A_DAY = 3

/**
 * Finds what to tell of a workspace. The same history gives the same alerts. Days and keys share the
 * allowed rate. Each look of a day and each window has all of it: they count nearly the same people.
 */
export const findAlerts = (history: CountedDays, told: readonly Told[]): FoundAlert[] => {
  const resting = new Set(told.filter(({ daysAgo }) => daysAgo < REST_DAYS).map(nameOf))
  // All keys that enough people have share the rate, also keys with few people now.
  const find = (subject: AlertSubject, candidates: readonly FoundAlert[], keys: number): FoundAlert[] => {
    const bound = Math.log((ALLOWED_IN_A_QUARTER * SHARES[subject]) / (DAYS_OF_QUARTER * Math.max(1, keys)))
    return rarestOfKeys(candidates.filter((each) => each.logRarity < bound && !resting.has(nameOf(each))))
  }
  const findKeys = (subject: KeyCount['subject']): FoundAlert[] =>
    find(subject, candidatesOfKeys(history, subject), history.keysOf[subject])
  const tagsOfToday = told.filter(({ subject, daysAgo }) => subject === 'tag' && daysAgo < 1).length
  const accounts = candidatesOfAccounts(history)
  return [
    ...findKeys('theme'),
    ...findKeys('kind'),
    ...findKeys('tag').slice(0, Math.max(0, MOST_TAGS_OF_A_DAY - tagsOfToday)),
    ...find('source', candidatesOfSources(history), history.sources.length),
    ...find('account', accounts, new Set(accounts.map(({ key }) => key)).size),
  ]
}

const nameOf = ({ subject, key }: { subject: AlertSubject; key: string }): string => `${subject} ${key}`

/** The rarest window of each key, the rarest key first. */
const rarestOfKeys = (found: readonly FoundAlert[]): FoundAlert[] => {
  const sorted = found.toSorted((a, b) => a.logRarity - b.logRarity || (a.key < b.key ? -1 : 1))
  return sorted.filter((each, at) => sorted.findIndex(({ key }) => key === each.key) === at)
}

const candidatesOfKeys = ({ keys, sources }: CountedDays, subject: KeyCount['subject']): FoundAlert[] => {
  const windows = new Map(sources.map(({ source, people }) => [source, windowsOf(people)]))
  const byKey = Map.groupBy(
    keys.filter((each) => each.subject === subject && isRecent(each.people)),
    ({ key }) => key,
  )
  return [...byKey].flatMap(([key, counts]) =>
    candidatesOf(
      { subject, key },
      counts.map(({ source, people }) => ({ people, windows: windows.get(source) ?? [] })),
    ),
  )
}

const candidatesOfSources = ({ sources }: CountedDays): FoundAlert[] =>
  sources.flatMap(({ source, rated, unhappy }) =>
    candidatesOf({ subject: 'source', key: source }, [{ people: unhappy, windows: windowsOf(rated) }]),
  )

type CountedKey = { people: Days; windows: readonly (SourceWindow | undefined)[] }

const windowsOf = (people: Days): (SourceWindow | undefined)[] => WINDOWS.map((days) => windowOf(people, days))
const isRecent = (people: Days): boolean => inWeek(people) > 0
const inWeek = (people: Days): number => sumOf(people, HISTORY_DAYS - DAYS_OF_WEEK, HISTORY_DAYS)

/** All windows with enough people, whether these have grown or not: the windows share the allowed rate. */
const candidatesOf = (named: { subject: AlertSubject; key: string }, counted: readonly CountedKey[]): FoundAlert[] => {
  if (counted.reduce((all, { people }) => all + inWeek(people), 0) < LEAST_PEOPLE) return []
  return WINDOWS.flatMap((days, at) => {
    const strata = counted.flatMap(({ people, windows }): Stratum[] => {
      const window = windows[at]
      return window === undefined ? [] : [{ people, window }]
    })
    const compared = compare(strata)
    return compared.people < LEAST_PEOPLE
      ? []
      : { ...named, days, ...compared, change: changeOf(named.subject, compared) }
  })
}

const changeOf = (subject: AlertSubject, { people, expected }: WindowComparison): AlertChange => {
  if (subject === 'source') return 'unhappy'
  return expected <= MOST_EXPECTED_OF_NEW * people ? 'new' : 'grown'
}

/** So many ratings of an account in each of the compared times. */
export const LEAST_RATED = 4
/** An account was satisfied if at most this part of its ratings was bad; it is unhappy if this part is. */
const [SATISFIED, UNHAPPY] = [0.25, 0.6]
/** What all accounts say of one account counts as much as so many of its own ratings. */
const RATINGS_OF_ALL = 4

const candidatesOfAccounts = ({ accounts, sources }: CountedDays): FoundAlert[] => {
  const all = sources.reduce((rated, each) => rated + sumOf(each.rated, 0, HISTORY_DAYS), 0)
  const allUnhappy = sources.reduce((unhappy, each) => unhappy + sumOf(each.unhappy, 0, HISTORY_DAYS), 0)
  const usual = (allUnhappy + 1) / (all + 2)
  return accounts.flatMap(({ account, rated, unhappy }) =>
    WINDOWS_OF_ACCOUNTS.flatMap((days) => {
      const start = HISTORY_DAYS - days
      const [now, before] = [sumOf(rated, start, HISTORY_DAYS), sumOf(rated, 0, start)]
      const [bad, badBefore] = [sumOf(unhappy, start, HISTORY_DAYS), sumOf(unhappy, 0, start)]
      if (now < LEAST_RATED || before < LEAST_RATED || badBefore > SATISFIED * before) return []
      const known = {
        hits: RATINGS_OF_ALL * usual + badBefore,
        misses: RATINGS_OF_ALL * (1 - usual) + before - badBefore,
      }
      return {
        subject: 'account' as const,
        key: account,
        change: 'unhappy' as const,
        days,
        people: bad,
        expected: (now * known.hits) / (known.hits + known.misses),
        logRarity: bad < UNHAPPY * now ? 0 : logTailOfBetaBinomial(bad, now, known),
      }
    }),
  )
}
