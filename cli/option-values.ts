import { endOfDay, isDateTime, startOfDay } from '../contract/date-time.ts'
import type { Sql } from '../db/connection/postgres.ts'
import { describeFault } from '../runtime/fault.ts'
import { CommandError } from './run-command.ts'

export const NO_SUCH_WORKSPACE = 'There is no workspace with this name. See: npm run workspace -- list'

/**
 * Reads only what the role of `npm run reader` may read.
 *
 * @throws CommandError when there is no workspace of this name
 */
export const findWorkspace = async (sql: Sql, name: string): Promise<{ id: string; name: string }> => {
  const [workspace] = await sql<{ id: string; name: string }[]>`select id, name from workspace where name = ${name}`
  if (workspace === undefined) throw new CommandError(NO_SUCH_WORKSPACE)
  return workspace
}

/** The mode of a file with names and texts of customers. */
export const OWNER_ONLY = 0o600

export const cannotWrite = (path: string, error: unknown): CommandError =>
  new CommandError(
    `${path} cannot be written (${describeFault(error)}). Name another file with --out, or make this one writable.`,
  )

const WITHOUT_SECONDS = /(T\d\d:\d\d)(?=Z|[+-])/

/**
 * The time of a date-time, or the start of a day in UTC (2026-01-31). Undefined without a text.
 *
 * @throws CommandError when the text is neither
 */
export const dateOf = (option: string, text: string | undefined): Date | undefined => timeOf(option, text, startOfDay)

/** The end of a span: as `dateOf`, but a day is included. */
export const endDateOf = (option: string, text: string | undefined): Date | undefined => timeOf(option, text, endOfDay)

const timeOf = (option: string, text: string | undefined, timeOfDay: typeof startOfDay): Date | undefined => {
  if (text === undefined) return undefined
  const whole = timeOfDay(text) ?? text.replace(WITHOUT_SECONDS, '$1:00')
  if (isDateTime(whole)) return new Date(whole)
  throw new CommandError(`--${option} must be a date, such as 2026-01-31 or 2026-01-31T12:00:00Z.`)
}
