import { type BenchConfig, STEADY_PER_SECOND } from '../bench-config.ts'
import { CURVE_LOADS, type CurveLoad, type Measure, type Measures } from './measures.ts'
import { type Summary, summarise } from './statistics.ts'

/** One line of the table: our figure, and possibly one to compare with, from the same rounds. */
type Line = {
  readonly what: string
  readonly ours: Measure
  readonly compared?: Measure
  /** Whether the bounds apply to the figure or to the ratio. */
  readonly judged: 'figure' | 'ratio'
  readonly good: 'more' | 'less'
  readonly required?: number
  readonly aim?: number
}

type Verdict = 'aim reached' | 'enough' | 'falls short' | 'stated'
export type JudgedLine = Line & {
  readonly figure: Summary
  readonly comparedFigure?: Summary
  /** The ratios within the rounds, so that a slow round cancels out. */
  readonly ratio?: Summary
  readonly verdict: Verdict
}

type Bounds = { readonly required?: number; readonly aim?: number }

const ratio = (what: string, [ours, compared]: readonly [Measure, Measure], bounds: Bounds = {}): Line => ({
  what,
  ours,
  compared,
  judged: 'ratio',
  good: 'more',
  ...bounds,
})

const figure = (what: string, [ours, compared]: readonly [Measure, Measure?], bounds: Bounds = {}): Line => ({
  what,
  ours,
  ...(compared !== undefined && { compared }),
  judged: 'figure',
  good: 'less',
  ...bounds,
})

const readWithin300 = (name: Measure): Line => figure(name, [name], { required: 300 })
const less = (line: Line): Line => ({ ...line, good: 'less' })

const linesFor = (config: BenchConfig): readonly Line[] => [
  ...ingressLines,
  ...pipelineLines,
  ...workspaceLines(config),
  ...curveLines,
  ...loneLines,
  ...idleLines(config),
  ...readingLines(config),
  ...heavyLines(config),
  ...sizeLines(config),
]

const ACCEPTED = 'accepted, everything on'
const QUEUE_ADD = 'plain handler with queue.add, accepted'

const ingressLines: readonly Line[] = [
  ratio('POST /feedbacks, everything on / handler with queue.add', [ACCEPTED, QUEUE_ADD], { required: 1, aim: 1.4 }),
  ratio('the same without Idempotency-Key', ['accepted, without Idempotency-Key', QUEUE_ADD]),
  less(
    ratio(
      'p99 at half of our highest rate / handler with queue.add at the same rate',
      ['p99 at half of the highest rate', 'plain handler with queue.add, p99 at the same rate'],
      { required: 1, aim: 0.7 },
    ),
  ),
  figure('the same while the worker works', ['p99 at half of the highest rate, workers at work']),
  ratio('accepted, confirmed by a replica of Redis as well / by the master alone', [
    'accepted, on a replica as well',
    'accepted, on a master with a replica',
  ]),
  figure(`p99 at ${STEADY_PER_SECOND}/s, confirmed by a replica as well / by the master alone`, [
    'p99 at a steady rate, on a replica as well',
    'p99 at a steady rate, on a master with a replica',
  ]),
]

const pipelineLines: readonly Line[] = [
  ratio('end to end / handler that inserts', ['end to end', 'plain handler that inserts'], { required: 0.9, aim: 1.3 }),
  ratio(
    'end to end, everything on / handler that does the same at once',
    ['end to end, everything on', 'plain handler that does the same at once'],
    { required: 1.5, aim: 2.5 },
  ),
  less(
    ratio('the same, processor time per submission', [
      'processor time per submission, everything on',
      'plain handler that does the same at once, processor time per submission',
    ]),
  ),
  ratio('end to end / plain pipeline', ['end to end', 'plain pipeline, end to end']),
  less(
    ratio(
      'processor time per submission / plain pipeline',
      ['processor time per submission', 'plain pipeline, processor time per submission'],
      { required: 0.55, aim: 0.4 },
    ),
  ),
  ratio('end to end, everything on, Deno / Bun', ['end to end on Deno', 'end to end, everything on'], {
    required: 0.6,
    aim: 0.9,
  }),
  figure('Redis memory per waiting submission beyond its body', ['Redis memory per waiting submission'], {
    required: 450,
  }),
  figure('memory of the API under load', ['memory of the API', 'plain pipeline, memory of the API'], {
    required: 150,
    aim: 100,
  }),
  figure('memory of the worker under load', ['memory of the worker', 'plain pipeline, memory of the worker'], {
    required: 250,
    aim: 200,
  }),
]

const workspaceLines = ({ workspaces }: BenchConfig): readonly Line[] => {
  const many = `${formatCount(workspaces)} workspaces / one`
  return [
    ratio(`accepted, ${many}`, ['accepted, many workspaces', 'accepted, one workspace'], { required: 0.8, aim: 1 }),
    ratio(`end to end, ${many}`, ['end to end, many workspaces', 'end to end, one workspace'], {
      required: 0.6,
      aim: 0.9,
    }),
    less(
      ratio(`processor time per submission, ${many}`, [
        'processor time per submission, many workspaces',
        'processor time per submission, one workspace',
      ]),
    ),
  ]
}

/** Beside the plain pipeline, the processor time of a submission at a low and at a high rate. */
const CURVE_BOUNDS: Partial<Record<CurveLoad, number>> = { '10/s': 1, '100/s': 1 }

const curveLines: readonly Line[] = [
  ...CURVE_LOADS.flatMap((load): Line[] => {
    const ours = `service at ${load}` as const
    const required = CURVE_BOUNDS[load]
    const bounds = required === undefined ? {} : { required }
    // The plain pipeline ignores tags.
    const plain = `plain pipeline at ${load.replace(' without tags', '') as '10/s' | '100/s' | '1,000/s'}` as const
    return [
      less(
        ratio(
          `processor time per submission at ${load} / plain pipeline`,
          [`${ours}: processor time`, `${plain}: processor time`],
          bounds,
        ),
      ),
      less(
        ratio(`the same / the other version`, [`${ours}: processor time`, `other version at ${load}: processor time`]),
      ),
      figure(`p50 at ${load}`, [`${ours}: p50`, `${plain}: p50`]),
      less(
        ratio(`p99 at ${load} / plain pipeline`, [`${ours}: p99`, `${plain}: p99`], {
          ...(load === '1,000/s' && { required: 2 }),
        }),
      ),
    ]
  }),
  figure('idle: processor time a second / the other version', [
    'service, idle: processor time a second',
    'other version, idle: processor time a second',
  ]),
]

const readingLines = ({ readFeedback }: BenchConfig): readonly Line[] => [
  figure(`a page of a list of ${formatCount(readFeedback)} feedback, p95`, ['a list, p95'], { required: 30 }),
  figure('a list by source, p95', ['a list by source, p95'], { required: 30 }),
  figure('a search for a word, p95', ['a search for a word, p95'], { required: 100 }),
  figure('a search for two words, p95', ['a search for two words, p95'], { required: 100 }),
  figure('a record, p95', ['a record, p95'], { required: 10 }),
  figure('500 changes, p95', ['500 changes, p95'], { required: 50 }),
  figure('accepted of 1,000 a second, ten readers', ['accepted of 1,000 a second, ten readers']),
  less(
    ratio(
      'p99 at 1,000 a second, ten readers / no readers',
      ['p99 at 1,000 a second, ten readers', 'p99 at 1,000 a second, no readers'],
      { required: 1.2 },
    ),
  ),
  readWithin300('a call of an agent, nothing coming in, p95'),
  figure('a call of an agent, p95', ['a call of an agent, p95']),
  readWithin300('a count of all feedback, p95'),
  readWithin300('a page of people, p95'),
  figure('accepted of 1,000 a second, ten agents', ['accepted of 1,000 a second, ten agents']),
  less(
    ratio('p99 at 1,000 a second, ten agents / no readers', [
      'p99 at 1,000 a second, ten agents',
      'p99 at 1,000 a second, no readers',
    ]),
  ),
]

const loneLines: readonly Line[] = [
  figure('lone submission: accepted until applied', ['applied after, lone submission'], { required: 15 }),
  figure('the same, p95', ['applied after, p95 of lone submissions']),
  figure('lone submission: sent until seen in Postgres', ['seen in Postgres after, lone submission']),
  figure('the same, p95', ['seen in Postgres after, p95 of lone submissions']),
]

/** Milliseconds of a processor in each second. */
const idleLines = ({ idleWorkspaces }: BenchConfig): readonly Line[] => {
  const many = `${formatCount(idleWorkspaces)} idle workspaces`
  return [
    figure('processor time of an idle installation', ['idle, one workspace: all processes'], { required: 40 }),
    figure(`${many}: the API`, ['idle, many workspaces: api']),
    figure(`${many}: the worker`, ['idle, many workspaces: worker'], { required: 50 }),
    figure(`${many}: Redis`, ['idle, many workspaces: Redis'], { required: 10 }),
    figure(`${many}: Postgres`, ['idle, many workspaces: Postgres']),
  ]
}

const heavyLines = ({ purgedFeedback }: BenchConfig): readonly Line[] => [
  figure(`an identify that absorbs a contact with ${formatCount(purgedFeedback)} feedback`, [
    'an identify that absorbs a contact',
  ]),
  figure('longest wait of another workspace meanwhile', ['longest wait of another workspace, during the identify'], {
    required: 300,
  }),
  figure('longest statement meanwhile', ['longest statement, during the identify'], { required: 250 }),
  figure('longest wait of its own workspace', ['longest wait of its own workspace, during the identify']),
  figure(`purge of ${formatCount(purgedFeedback)} feedback while few submit`, ['purge while few submit']),
  figure('longest wait of another workspace meanwhile', ['longest wait of another workspace, during the purge'], {
    required: 300,
  }),
  figure('longest statement meanwhile', ['longest statement, during the purge'], { required: 250 }),
  figure('longest wait of its own workspace', ['longest wait of its own workspace, during the purge'], {
    required: 2_000,
  }),
  ratio(
    'highest rate at the end of a held snapshot / before it',
    ['highest rate, at the end of a held snapshot', 'highest rate, no snapshot held'],
    { required: 0.9 },
  ),
  figure(
    'size of the most grown table above 8 MiB / of its copy',
    ['size of a table with a held snapshot / of its copy'],
    { required: 1.5 },
  ),
]

const sizeLines = ({ storedFeedback, storedContacts, backlog, purgedFeedback }: BenchConfig): readonly Line[] => {
  const stored = `${formatCount(storedFeedback)} feedback of ${formatCount(storedContacts)} people stored`
  return [
    ratio(`end to end with ${stored} / a new service`, ['end to end with much stored', 'end to end'], {
      required: 0.9,
      aim: 1,
    }),
    ratio(`accepted with ${formatCount(backlog)} waiting / few`, ['accepted with a backlog', ACCEPTED], {
      required: 0.95,
      aim: 1,
    }),
    figure(`purge of a contact with ${formatCount(purgedFeedback)} feedback among ${formatCount(storedFeedback)}`, [
      'purge of a contact',
    ]),
    less(
      ratio(`p99 at ${STEADY_PER_SECOND}/s during that purge / without`, [
        'p99 at a steady rate during a purge',
        'p99 at a steady rate without a purge',
      ]),
    ),
  ]
}

/** The lines whose figures were taken, judged. */
export const judgeLines = (config: BenchConfig, measures: Measures): JudgedLine[] => {
  return linesFor(config)
    .filter(({ ours }) => measures.of(ours).length > 0)
    .map((line) => judge(line, measures))
}

const judge = (line: Line, measures: Measures): JudgedLine => {
  const ours = measures.of(line.ours)
  const compared = line.compared === undefined ? [] : measures.of(line.compared)
  const own = summarise(ours)
  if (compared.length !== ours.length) {
    return { ...line, figure: own, verdict: line.judged === 'figure' ? verdictOf(line, own.median) : 'stated' }
  }
  const quotient = summarise(ours.map((value, round) => value / compared[round]!))
  const verdict = verdictOf(line, line.judged === 'figure' ? own.median : quotient.median)
  return { ...line, figure: own, comparedFigure: summarise(compared), ratio: quotient, verdict }
}

const verdictOf = ({ good, required, aim }: Line, value: number): Verdict => {
  const reaches = (bound: number): boolean => (good === 'more' ? value >= bound : value <= bound)
  if (aim !== undefined && reaches(aim)) return 'aim reached'
  if (required === undefined) return 'stated'
  return reaches(required) ? 'enough' : 'falls short'
}

const formatCount = (value: number): string => value.toLocaleString('en')
