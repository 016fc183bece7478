import { type Summary, summarise } from './statistics.ts'

/** The kinds of submissions whose processor time is measured. */
export const KINDS = [
  'feedback of new people',
  'feedback of known people',
  'identify, new',
  'identify, known',
  'identify that absorbs a known email',
  'conversation, new',
  'conversation, again',
  'feedback of many workspaces',
] as const
export type KindOfSubmission = (typeof KINDS)[number]

export const PROCESSES = ['api', 'worker', 'Redis', 'Postgres'] as const
export type ProcessName = (typeof PROCESSES)[number]

/** How many idle workspaces an installation has whose processor time is measured. */
const IDLE = ['one workspace', 'many workspaces'] as const
type IdleMeasure = `idle, ${(typeof IDLE)[number]}: ${ProcessName | 'all processes'}`
/** The loads of the section `curve`, from few submissions a second to many. */
export const CURVE_LOADS = ['10/s', '10/s without tags', '100/s', '100/s without tags', '1,000/s'] as const
export type CurveLoad = (typeof CURVE_LOADS)[number]

/** What the section `curve` measures; `other version`: of the checkout that the run names. */
export const CURVE_PROGRAMS = ['service', 'plain pipeline', 'other version'] as const
export type CurveProgram = (typeof CURVE_PROGRAMS)[number]

const CURVE_UNITS = {
  'processor time': 'µs',
  api: 'µs',
  worker: 'µs',
  Redis: 'µs',
  Postgres: 'µs',
  p50: 'ms',
  p99: 'ms',
}
type CurveMeasure =
  `${CurveProgram}, idle: processor time a second` | `${CurveProgram} at ${CurveLoad}: ${keyof typeof CURVE_UNITS}`

/** The figures of a run that do not depend on a kind, each with its unit. */
const UNITS_WITHOUT_KIND = {
  'plain handler with queue.add, accepted': '/s',
  'accepted, everything on': '/s',
  'accepted, without Idempotency-Key': '/s',
  'accepted with a backlog': '/s',
  'accepted, on a master with a replica': '/s',
  'accepted, on a replica as well': '/s',
  'p99 at a steady rate, on a master with a replica': 'ms',
  'p99 at a steady rate, on a replica as well': 'ms',
  'p99 at half of the highest rate': 'ms',
  'p99 at half of the highest rate, workers at work': 'ms',
  'plain handler with queue.add, p99 at the same rate': 'ms',
  'Redis memory per waiting submission': 'bytes',
  'end to end': '/s',
  'end to end, everything on': '/s',
  'end to end with much stored': '/s',
  'end to end on Deno': '/s',
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
  'a list, p95': 'ms',
  'a list by source, p95': 'ms',
  'a record, p95': 'ms',
  '500 changes, p95': 'ms',
  'p99 at 1,000 a second, no readers': 'ms',
  'p99 at 1,000 a second, ten readers': 'ms',
  'accepted of 1,000 a second, ten readers': '/s',
  'a call of an agent, p95': 'ms',
  'a call of an agent, nothing coming in, p95': 'ms',
  'a search for a word, p95': 'ms',
  'a search for two words, p95': 'ms',
  'a count of all feedback, p95': 'ms',
  'a page of people, p95': 'ms',
  'p99 at 1,000 a second, ten agents': 'ms',
  'accepted of 1,000 a second, ten agents': '/s',
  'applied after, lone submission': 'ms',
  'applied after, p95 of lone submissions': 'ms',
  'seen in Postgres after, lone submission': 'ms',
  'seen in Postgres after, p95 of lone submissions': 'ms',
  'an identify that absorbs a contact': 's',
  'longest wait of another workspace, during the identify': 'ms',
  'longest statement, during the identify': 'ms',
  'longest wait of its own workspace, during the identify': 'ms',
  'purge while few submit': 's',
  'longest wait of another workspace, during the purge': 'ms',
  'longest statement, during the purge': 'ms',
  'longest wait of its own workspace, during the purge': 'ms',
  'highest rate, no snapshot held': '/s',
  'applied at a steady rate, while a snapshot is held': '/s',
  'highest rate, at the end of a held snapshot': '/s',
  'size of a table with a held snapshot / of its copy': 'times',
  'purge of a contact': 's',
  'p99 at a steady rate during a purge': 'ms',
  'p99 at a steady rate without a purge': 'ms',
} as const

export type Measure =
  | keyof typeof UNITS_WITHOUT_KIND
  | IdleMeasure
  | CurveMeasure
  | `${KindOfSubmission}: ${'end to end' | 'processor time' | ProcessName}`

/** Every figure of a run, with its unit. */
export const UNITS: Readonly<Record<Measure, string>> = {
  ...UNITS_WITHOUT_KIND,
  ...(Object.fromEntries(
    IDLE.flatMap((whose) => [...PROCESSES, 'all processes'].map((name) => [`idle, ${whose}: ${name}`, 'ms/s'])),
  ) as Record<IdleMeasure, string>),
  ...(Object.fromEntries(
    CURVE_PROGRAMS.flatMap((program) => [
      [`${program}, idle: processor time a second`, 'ms'],
      ...CURVE_LOADS.flatMap((load) =>
        Object.entries(CURVE_UNITS).map(([what, unit]) => [`${program} at ${load}: ${what}`, unit]),
      ),
    ]),
  ) as Record<CurveMeasure, string>),
  ...(Object.fromEntries(
    KINDS.flatMap((kind) => [
      [`${kind}: end to end`, '/s'],
      ...['processor time', ...PROCESSES].map((what) => [`${kind}: ${what}`, 'µs']),
    ]),
  ) as Record<Exclude<Measure, keyof typeof UNITS_WITHOUT_KIND | IdleMeasure | CurveMeasure>, string>),
}

export type Measures = {
  readonly add: (measure: Measure, value: number) => void
  /** The values of a figure in the order of the rounds; empty if it was not measured. */
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

/** A figure with its unit, rounded. */
export const describeFigure = (value: number, unit: string): string => {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2
  const number = value.toLocaleString('en', { maximumFractionDigits: digits })
  return unit === '/s' ? `${number}/s` : `${number} ${unit}`
}
