export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
type LogLevel = (typeof LOG_LEVELS)[number]

/**
 * Logs an event with fields: ids, counts, durations, kinds of fault. The event has a name in
 * snake_case. A field never holds a payload or the message of an error.
 */
export type Logger = (
  level: Exclude<LogLevel, 'silent'>,
  event: string,
  fields?: Readonly<Record<string, unknown>>,
) => void

/** Writes one JSON line per event. */
export const createLogger = (
  write: (line: string) => void,
  least: LogLevel,
  constant: Readonly<Record<string, unknown>>,
): Logger => {
  const threshold = LOG_LEVELS.indexOf(least)
  return (level, event, fields) => {
    if (LOG_LEVELS.indexOf(level) < threshold) return
    write(`${JSON.stringify({ time: new Date().toISOString(), level, event, ...constant, ...fields })}\n`)
  }
}
