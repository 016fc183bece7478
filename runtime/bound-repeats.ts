import type { Logger } from './logger.ts'

const COUNTED_FOR_MS = 10_000

type Repeated = { times: number; last: Parameters<Logger> }

/**
 * Logs a fault once, and then how often it came again: a full disk would otherwise bring a line for
 * each request. An event with a `fault` is bound by its name and its fault. While it repeats, each
 * period gets one line with the fields of the last event, and `times`. After a period without it,
 * the next one is logged at once.
 */
export const boundRepeats = (log: Logger, periodMs = COUNTED_FOR_MS): Logger => {
  const repeated = new Map<string, Repeated>()
  const endPeriod = (key: string): void => {
    const { times, last } = repeated.get(key)!
    repeated.delete(key)
    if (times === 0) return
    const [level, event, fields] = last
    log(level, event, { ...fields, times })
    begin(key, last)
  }
  const begin = (key: string, last: Parameters<Logger>): void => {
    repeated.set(key, { times: 0, last })
    setTimeout(endPeriod, periodMs, key).unref()
  }
  return (...line) => {
    const [, event, fields] = line
    const fault = fields?.['fault']
    if (typeof fault !== 'string') return log(...line)
    const key = `${event} ${fault}`
    const known = repeated.get(key)
    if (known === undefined) {
      begin(key, line)
      return log(...line)
    }
    known.times++
    known.last = line
  }
}
