import { CommandError } from './run-command.ts'

const DATE = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/

/** A day in UTC (2026-01-31), or a date-time. @throws CommandError when the text is neither. */
export const dateOf = (option: string, text: string | undefined): Date | undefined => {
  if (text === undefined) return undefined
  const date = new Date(text)
  if (!DATE.test(text) || Number.isNaN(date.getTime())) {
    throw new CommandError(`--${option} is no date: 2026-01-31, or 2026-01-31T12:00:00Z.`)
  }
  return date
}
