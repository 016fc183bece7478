/** The content of a report, without its form. */
export type Report = {
  readonly workspace: string
  /**
   * The report compares the time from `since` to `until` with the time from `before` to `since`.
   */
  readonly period: Period
  readonly now: ReportTotals
  readonly before: ReportTotals
  readonly steps: readonly TrendStep[]
  readonly topics: readonly Topic[]
  readonly news: readonly News[]
  readonly accounts: readonly Account[]
  readonly sources: readonly SourceRatings[]
  readonly projects: readonly Project[]
}

export type Period = { readonly before: Date; readonly since: Date; readonly until: Date; readonly unit: Unit }
export type Unit = 'day' | 'week' | 'month'
/**
 * `satisfaction`: the mean of the ratings that have one, from 0 to 1. `rated`: how many these are.
 * `bad`: the share of those with 0.4 or less. Ratings of a source without a known scale have none.
 */
export type Satisfaction = { rated: number; satisfaction: number | null; bad: number | null }
export type ReportTotals = Satisfaction & { feedback: number; contacts: number; accounts: number }
/** A day, week or month, named by its beginning. */
export type TrendStep = Satisfaction & { begin: Date; feedback: number }
export type FeedbackExample = {
  tag: string
  description: string
  rating: number | null
  satisfaction: number | null
  at: Date
  contact: string | null
  account: string | null
}
export type Topic = Satisfaction & {
  tag: string
  feedback: number
  before: number
  accounts: number
  /** The sum of the contract values of these accounts. */
  contractValue: number | null
  /** The feedback of each step of the report. */
  steps: number[]
  examples: FeedbackExample[]
}
/**
 * Feedback of the last seven days before `until`, and its weekly mean in the eight weeks before.
 */
export type News = Satisfaction & {
  tag: string
  feedback: number
  weeklyBefore: number
  examples: FeedbackExample[]
}
export type Account = Satisfaction & {
  name: string | null
  contractValue: number | null
  feedback: number
  before: Satisfaction
  tags: string[]
}
/**
 * `csat`: the share of ratings of 4 or more on a scale of 1 to 5. `nps`: the share of 9 or more, less
 * that of ratings below 7, on a scale of 0 to 10. Ratings outside of the scale count only in `ratings`.
 */
export type SourceRatings = Satisfaction & {
  source: string
  ratings: number
  least: number
  most: number
  /** Null without a known scale. */
  scale: readonly [low: number, high: number] | null
  /** Whether a person gave the scale, or said that there is none. */
  isScaleGiven: boolean
  csat: number | null
  nps: number | null
}
export type Project = Satisfaction & { project: string; feedback: number }

const DAY_MS = 86_400_000
const MOST_DAYS_BY_DAY = 35
const MOST_DAYS_BY_WEEK = 400
/** Postgres does not read the form in which JavaScript writes earlier times. */
const YEAR_1_MS = Date.parse('0001-01-01T00:00:00Z')

export const periodOf = (since: Date, until: Date): Period => {
  const lengthMs = until.getTime() - since.getTime()
  const unit = lengthMs <= MOST_DAYS_BY_DAY * DAY_MS ? 'day' : lengthMs <= MOST_DAYS_BY_WEEK * DAY_MS ? 'week' : 'month'
  return { before: new Date(Math.max(since.getTime() - lengthMs, YEAR_1_MS)), since, until, unit }
}
