import { DAYS_OF_WEEK, type Days, HISTORY_DAYS, sumOf, WEEKS_BEFORE } from './history.ts'
import { logTailOfBinomial } from './rarity.ts'

/** All people of a source in a window of the latest days, and in the same weekdays of the weeks before. */
export type SourceWindow = { days: number; now: number; before: number; weeks: readonly number[] }

/** People with a key, in one source. */
export type Stratum = { people: Days; window: SourceWindow }

/**
 * `expected`: the people to be expected by the weeks before. `logRarity`: the natural logarithm of the
 * probability that so many come by chance; 0 if growth is less than `LEAST_GROWTH`.
 */
export type WindowComparison = { people: number; expected: number; logRarity: number }

/** Growth that is less is not worth telling, however sure it is. */
export const LEAST_GROWTH = 1.5
/** A source with fewer people in the weeks before is too small to compare with. */
const LEAST_BEFORE = 20
/** A source is known after so many weeks. */
const LEAST_WEEKS = 2
/** With fewer people in the weeks before, their variation says nothing. */
const LEAST_FOR_VARIATION = 8

/** Undefined: the source has too few people in the weeks before. */
export const windowOf = (people: Days, days: number): SourceWindow | undefined => {
  const weeks = weeksOf(people, days)
  const before = weeks.reduce((all, each) => all + each, 0)
  if (before < LEAST_BEFORE || weeks.filter((all) => all > 0).length < LEAST_WEEKS) return undefined
  return { days, now: sumOf(people, HISTORY_DAYS - days, HISTORY_DAYS), before, weeks }
}

/** The numbers of the same weekdays, one week earlier each. */
const weeksOf = (people: Days, days: number): number[] =>
  Array.from({ length: WEEKS_BEFORE }, (_, at) => {
    const end = HISTORY_DAYS - (at + 1) * DAYS_OF_WEEK
    return sumOf(people, end - days, end)
  })

/**
 * Compares the people with a key. Each source is compared with itself, so a source that is new, or
 * that grows, makes no difference. People count as a share of all people, so neither does the volume
 * of the workspace, nor the weekday.
 */
export const compare = (strata: readonly Stratum[]): WindowComparison => {
  let [people, before, weighted] = [0, 0, 0]
  for (const { people: of, window } of strata) {
    const now = sumOf(of, HISTORY_DAYS - window.days, HISTORY_DAYS)
    const usual = weeksOf(of, window.days).reduce((all, each) => all + each, 0)
    people += now
    before += usual
    weighted += ((now + usual) * window.now) / window.before
  }
  const hits = Math.floor(people)
  if (hits === 0) return { people: 0, expected: 0, logRarity: 0 }
  const ratio = weighted / (people + before)
  const expected = before * ratio
  if (hits < LEAST_GROWTH * expected) return { people: hits, expected, logRarity: 0 }
  const logTail = logTailOfBinomial(hits, hits + Math.ceil(before), ratio / (1 + ratio))
  return { people: hits, expected, logRarity: logTail / variationOf(strata, before) }
}

/**
 * How much more the weeks before vary than chance explains, at least 1: topics come in bursts. Chi-square
 * for each degree of freedom is itself uncertain with so few weeks, so half of the excess counts.
 */
const variationOf = (strata: readonly Stratum[], before: number): number => {
  if (before < LEAST_FOR_VARIATION) return 1
  const usual = Array.from({ length: WEEKS_BEFORE }, () => 0)
  const counted = Array.from({ length: WEEKS_BEFORE }, () => 0)
  for (const { people, window } of strata) {
    const own = weeksOf(people, window.days)
    const share = own.reduce((all, each) => all + each, 0) / window.before
    for (const [week, all] of window.weeks.entries()) {
      usual[week]! += share * all
      counted[week]! += own[week]!
    }
  }
  const weeks = usual.filter((each) => each > 0).length
  const chiSquare = usual.reduce((all, each, week) => all + (each > 0 ? (counted[week]! - each) ** 2 / each : 0), 0)
  return weeks < 2 ? 1 : Math.max(1, (1 + chiSquare / (weeks - 1)) / 2)
}
