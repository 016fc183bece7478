import type { Explained } from '../../runtime/explain-fault.ts'

/**
 * `wrong`: the service loses or refuses work, or will. `warning`: worth a look. No text contains a
 * secret or a customer's data.
 */
export type Finding =
  | { readonly state: 'well'; readonly text: string }
  | { readonly state: 'warning' | 'wrong'; readonly text: string; readonly remedy: string }

export const well = (text: string): Finding => ({ state: 'well', text })
export const warning = (text: string, remedy: string): Finding => ({ state: 'warning', text, remedy })
export const wrong = (text: string, remedy: string): Finding => ({ state: 'wrong', text, remedy })

/** A finding of another room, or the explanation of a server's fault, as a finding. */
export const wrongOf = ({ what, remedy }: Explained): Finding => wrong(what, remedy)

const WIDTH = 9

export const describeFinding = (finding: Finding): string => {
  const line = `${finding.state.padEnd(WIDTH)}${finding.text}`
  return finding.state === 'well' ? line : `${line}\n${' '.repeat(WIDTH)}→ ${finding.remedy}`
}

const WARN_CLOCK_MS = 1_000
const WRONG_CLOCK_MS = 60_000

/**
 * Compares a server's clock with this one. The difference is uncertain by half of the round trip.
 */
export const judgeClock = (server: string, { serverMs, askedMs, answeredMs }: Clock): Finding => {
  const uncertainMs = (answeredMs - askedMs) / 2
  const differenceMs = Math.round(serverMs - (askedMs + uncertainMs))
  const certainMs = Math.max(0, Math.abs(differenceMs) - uncertainMs)
  const text = `The clock of ${server} is ${Math.abs(differenceMs)} ms ${differenceMs < 0 ? 'behind' : 'ahead of'} this one.`
  const remedy = 'Synchronise the clocks of all machines (NTP): times of acceptance, limits and expiry depend on them.'
  if (certainMs >= WRONG_CLOCK_MS) return wrong(text, remedy)
  return certainMs >= WARN_CLOCK_MS ? warning(text, remedy) : well(text)
}

export type Clock = { readonly serverMs: number; readonly askedMs: number; readonly answeredMs: number }
