import type { Finding } from '../../health/finding.ts'

/** The result of a check. No text contains a secret or submitted content. */
export type Checked = Finding | { level: 'well'; what: string }

export const well = (what: string): Checked => ({ level: 'well', what })
export const warning = (what: string, remedy: string): Finding => ({ level: 'attention', what, remedy })
export const wrong = (what: string, remedy: string): Finding => ({ level: 'trouble', what, remedy })

const WORDS = { well: 'well', attention: 'warning', trouble: 'wrong' } as const
const WIDTH = 9

export const describeFinding = (checked: Checked): string => {
  const line = `${WORDS[checked.level].padEnd(WIDTH)}${checked.what}`
  return checked.level === 'well' ? line : `${line}\n${' '.repeat(WIDTH)}→ ${checked.remedy}`
}

const WARN_CLOCK_MS = 1_000
const WRONG_CLOCK_MS = 60_000

/**
 * Compares a server's clock with that of this machine. The difference is uncertain by half of the
 * round trip.
 */
export const judgeClock = (server: string, { serverMs, askedMs, answeredMs }: Clock): Checked => {
  const uncertainMs = (answeredMs - askedMs) / 2
  const differenceMs = Math.round(serverMs - (askedMs + uncertainMs))
  const certainMs = Math.max(0, Math.abs(differenceMs) - uncertainMs)
  const text = `The clock of ${server} is ${Math.abs(differenceMs)} ms ${differenceMs < 0 ? 'behind' : 'ahead of'} this one.`
  const remedy = 'Synchronise the clocks of all machines (NTP): times of acceptance, limits and expiry depend on them.'
  if (certainMs >= WRONG_CLOCK_MS) return wrong(text, remedy)
  return certainMs >= WARN_CLOCK_MS ? warning(text, remedy) : well(text)
}

type Clock = { readonly serverMs: number; readonly askedMs: number; readonly answeredMs: number }
