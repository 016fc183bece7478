/** The content of a report, without its form. A `rating` is a mean, except that of an example. */
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
export type ReportTotals = { feedback: number; contacts: number; accounts: number; rating: number | null }
/** A day, week or month, named by its beginning. */
export type TrendStep = { begin: Date; feedback: number; rating: number | null }
export type FeedbackExample = {
  tag: string
  description: string
  rating: number | null
  at: Date
  contact: string | null
  account: string | null
}
export type Topic = {
  tag: string
  feedback: number
  before: number
  rating: number | null
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
export type News = {
  tag: string
  feedback: number
  weeklyBefore: number
  rating: number | null
  examples: FeedbackExample[]
}
export type Account = {
  name: string | null
  contractValue: number | null
  feedback: number
  rating: number | null
  ratingBefore: number | null
  tags: string[]
}
/**
 * Only ratings from 0 to 10 count. The highest of a source shows its scale: `csat` up to 5, `nps`
 * above.
 */
export type SourceRatings = { source: string; ratings: number; csat: number | null; nps: number | null }
export type Project = { project: string; feedback: number; rating: number | null }

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
