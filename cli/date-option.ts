import { isDateTime } from '../contract/date-time.ts'
import { CommandError } from './run-command.ts'

const DAY = /^\d{4}-\d\d-\d\d$/
const WITHOUT_SECONDS = /(T\d\d:\d\d)(?=Z|[+-])/

/**
 * A day in UTC (2026-01-31), or a date-time.
 *
 * @throws CommandError when the text is neither
 */
export const dateOf = (option: string, text: string | undefined): Date | undefined => {
  if (text === undefined) return undefined
  const whole = DAY.test(text) ? `${text}T00:00:00Z` : text.replace(WITHOUT_SECONDS, '$1:00')
  if (isDateTime(whole)) return new Date(whole)
  throw new CommandError(`--${option} must be a date, such as 2026-01-31 or 2026-01-31T12:00:00Z.`)
}
