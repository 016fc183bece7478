import { type Summary, summarise } from './statistics.ts'

/** Every figure that a run takes, with its unit. */
export const UNITS = {
  'plain handler with queue.add, accepted': '/s',
  'accepted, everything on': '/s',
  'accepted, without Idempotency-Key': '/s',
  'accepted on Deno': '/s',
  'accepted with a backlog': '/s',
  'accepted, on a master with a replica': '/s',
  'accepted, on a replica as well': '/s',
  'p99 at 500 a second, on a master with a replica': 'ms',
  'p99 at 500 a second, on a replica as well': 'ms',
  'p99 at half of the highest rate': 'ms',
  'p99 at half of the highest rate, workers at work': 'ms',
  'plain handler with queue.add, p99 at the same rate': 'ms',
  'do-nothing worker, drained': '/s',
  'plain worker, drained': '/s',
  'feedback drained': '/s',
  'feedback drained on Deno': '/s',
  'feedback drained with much stored': '/s',
  'feedback drained with a backlog': '/s',
  'feedback of one contact drained': '/s',
  'feedback of one contact with much drained': '/s',
  'feedback drained without purges': '/s',
  'feedback drained after many purges': '/s',
  'accepted without purges': '/s',
  'accepted after many purges': '/s',
  'contacts drained': '/s',
  'messages of conversations drained': '/s',
  'Redis memory per waiting submission': 'bytes',
  'plain queue, Redis memory per waiting job': 'bytes',
  'end to end': '/s',
  'end to end, everything on': '/s',
  'plain pipeline, end to end': '/s',
  'plain handler that inserts': '/s',
  'plain handler that does the same at once': '/s',
  'processor time per submission': 'µs',
  'plain pipeline, processor time per submission': 'µs',
  'plain handler that inserts, processor time per submission': 'µs',
  'plain handler that does the same at once, processor time per submission': 'µs',
  'processor time per submission, everything on': 'µs',
  'processor time: api': 'µs',
  'processor time: worker': 'µs',
  'processor time: Redis': 'µs',
  'processor time: Postgres': 'µs',
  'plain pipeline, processor time: api': 'µs',
  'plain pipeline, processor time: worker': 'µs',
  'plain pipeline, processor time: Redis': 'µs',
  'plain pipeline, processor time: Postgres': 'µs',
  'memory of the API': 'MB',
  'memory of the worker': 'MB',
  'plain pipeline, memory of the API': 'MB',
  'plain pipeline, memory of the worker': 'MB',
  'accepted, one workspace': '/s',
  'accepted, many workspaces': '/s',
  'end to end, one workspace': '/s',
  'end to end, many workspaces': '/s',
  'processor time per submission, one workspace': 'µs',
  'processor time per submission, many workspaces': 'µs',
  'accepted, as many people waiting': '/s',
  'accepted, one email waiting': '/s',
  'accepted, 100 emails waiting': '/s',
  'accepted, as many projects waiting': '/s',
  'accepted, one project waiting': '/s',
  'accepted, as many contacts waiting': '/s',
  'accepted, one contact waiting': '/s',
  'accepted, one email of many ids waiting': '/s',
  'accepted, as many emails of many ids waiting': '/s',
  'accepted, one email that all claim waiting': '/s',
  'accepted, as many emails that are claimed waiting': '/s',
  'accepted, one id of many sources waiting': '/s',
  'accepted, as many ids of sources waiting': '/s',
  'Redis per admission, as many people waiting': 'µs',
  'Redis per admission, one email waiting': 'µs',
  'Redis per admission, 100 emails waiting': 'µs',
  'Redis per admission, as many projects waiting': 'µs',
  'Redis per admission, one project waiting': 'µs',
  'Redis per admission, as many contacts waiting': 'µs',
  'Redis per admission, one contact waiting': 'µs',
  'Redis per admission, one email of many ids waiting': 'µs',
  'Redis per admission, as many emails of many ids waiting': 'µs',
  'Redis per admission, one email that all claim waiting': 'µs',
  'Redis per admission, as many emails that are claimed waiting': 'µs',
  'Redis per admission, one id of many sources waiting': 'µs',
  'Redis per admission, as many ids of sources waiting': 'µs',
  'applied after, lone submission': 'ms',
  'applied after, p95 of lone submissions': 'ms',
  'seen in Postgres after, lone submission': 'ms',
  'seen in Postgres after, p95 of lone submissions': 'ms',
  'refused while keys come in': 'answers',
  'Redis memory of settled keys': 'MB',
  'wrong answers to repeats': 'answers',
  'wrong answers to repeats during a purge': 'answers',
  'purge of a contact': 's',
  'p99 at a steady rate during a purge': 'ms',
  'p99 at a steady rate without a purge': 'ms',
} as const

export type Measure = keyof typeof UNITS

export type Measures = {
  readonly add: (measure: Measure, value: number) => void
  /** The values in the order of the rounds; empty when it was not taken. */
  readonly of: (measure: Measure) => readonly number[]
  readonly summaries: () => { measure: Measure; unit: string; rounds: readonly number[]; summary: Summary }[]
}

export const createMeasures = (say: (line: string) => void): Measures => {
  const taken = new Map<Measure, number[]>()
  return {
    add: (measure, value) => {
      say(`  ${measure}: ${describeFigure(value, UNITS[measure])}`)
      taken.set(measure, [...(taken.get(measure) ?? []), value])
    },
    of: (measure) => taken.get(measure) ?? [],
    summaries: () =>
      [...taken].map(([measure, rounds]) => ({ measure, unit: UNITS[measure], rounds, summary: summarise(rounds) })),
  }
}

/** A figure with its unit, with no more digits than it deserves. */
export const describeFigure = (value: number, unit: string): string => {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2
  const number = value.toLocaleString('en', { maximumFractionDigits: digits })
  return unit === '/s' ? `${number}/s` : `${number} ${unit}`
}
