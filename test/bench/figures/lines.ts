import { type BenchConfig, STEADY_PER_SECOND } from '../bench-config.ts'
import type { Measure, Measures } from './measures.ts'
import { type Summary, summarise } from './statistics.ts'

/** One line of the table: a figure of ours beside one that it is compared with, taken in the same rounds. */
export type Line = {
  readonly what: string
  readonly ours: Measure
  readonly besides?: Measure
  /** What is judged: our figure itself, or its ratio to the other one. */
  readonly judged: 'figure' | 'ratio'
  readonly good: 'more' | 'less'
  readonly atLeast?: number
  readonly aim?: number
}

export type Verdict = 'aim reached' | 'enough' | 'falls short' | 'stated'
export type JudgedLine = Line & {
  readonly figure: Summary
  readonly beside?: Summary
  /** Of the figures of each round, so that what disturbs both in one round disturbs it least. */
  readonly ratio?: Summary
  readonly verdict: Verdict
}

type Bounds = { readonly atLeast?: number; readonly aim?: number }

const ratio = (what: string, [ours, besides]: readonly [Measure, Measure], bounds: Bounds = {}): Line => ({
  what,
  ours,
  besides,
  judged: 'ratio',
  good: 'more',
  ...bounds,
})

const figure = (what: string, [ours, besides]: readonly [Measure, Measure?], bounds: Bounds = {}): Line => ({
  what,
  ours,
  ...(besides !== undefined && { besides }),
  judged: 'figure',
  good: 'less',
  ...bounds,
})

const linesFor = (config: BenchConfig): readonly Line[] => [
  ...ingressLines,
  ...pipelineLines,
  ...workspaceLines(config),
  ...alikeLines(config),
  ...loneLines,
  ...keyLines(config),
  ...sizeLines(config),
  ...grownLines(config),
]

const ACCEPTED = 'accepted, everything on'
const QUEUE_ADD = 'plain handler with queue.add, accepted'
const DRAINED = 'feedback drained'
const IDLE = 'do-nothing worker, drained'

const ingressLines: readonly Line[] = [
  ratio('POST /feedbacks, everything on / handler with queue.add', [ACCEPTED, QUEUE_ADD], { atLeast: 1, aim: 1.4 }),
  ratio('the same without Idempotency-Key', ['accepted, without Idempotency-Key', QUEUE_ADD]),
  {
    ...ratio(
      'p99 at half of our highest rate / handler with queue.add at the same rate',
      ['p99 at half of the highest rate', 'plain handler with queue.add, p99 at the same rate'],
      { atLeast: 1, aim: 0.7 },
    ),
    good: 'less',
  },
  figure('the same while the worker drains', ['p99 at half of the highest rate, workers at work']),
  ratio('accepted, confirmed by a replica of Redis as well / by the master alone', [
    'accepted, on a replica as well',
    'accepted, on a master with a replica',
  ]),
  figure('p99 at 500 a second, confirmed by a replica as well', [
    'p99 at 500 a second, on a replica as well',
    'p99 at 500 a second, on a master with a replica',
  ]),
  ratio('accepted, Deno / Bun', ['accepted on Deno', ACCEPTED], { atLeast: 0.6, aim: 0.9 }),
]

const pipelineLines: readonly Line[] = [
  ratio('feedback drained / worker that does nothing', [DRAINED, IDLE], { atLeast: 0.6, aim: 0.85 }),
  ratio('feedback drained / plain worker', [DRAINED, 'plain worker, drained'], { atLeast: 2, aim: 3.5 }),
  ratio('contacts identified, drained / worker that does nothing', ['contacts drained', IDLE], {
    atLeast: 0.6,
    aim: 1,
  }),
  ratio('messages of conversations, drained / its jobs', ['messages of conversations drained', IDLE], {
    atLeast: 1.5,
    aim: 3,
  }),
  ratio('feedback drained, Deno / Bun', ['feedback drained on Deno', DRAINED], { atLeast: 0.7, aim: 0.9 }),
  ratio('end to end / handler that inserts', ['end to end', 'plain handler that inserts'], { atLeast: 0.9, aim: 1.3 }),
  ratio(
    'end to end, everything on / handler that does the same at once',
    ['end to end, everything on', 'plain handler that does the same at once'],
    { atLeast: 1.5, aim: 2.5 },
  ),
  {
    ...ratio('the same, processor time per submission', [
      'processor time per submission, everything on',
      'plain handler that does the same at once, processor time per submission',
    ]),
    good: 'less',
  },
  ratio('end to end / plain pipeline', ['end to end', 'plain pipeline, end to end']),
  {
    ...ratio(
      'processor time per submission / plain pipeline',
      ['processor time per submission', 'plain pipeline, processor time per submission'],
      { atLeast: 0.55, aim: 0.4 },
    ),
    good: 'less',
  },
  figure(
    'Redis memory per waiting submission beyond its body',
    ['Redis memory per waiting submission', 'plain queue, Redis memory per waiting job'],
    { atLeast: 450 },
  ),
  figure('memory of the API under load', ['memory of the API', 'plain pipeline, memory of the API'], {
    atLeast: 150,
    aim: 100,
  }),
  figure('memory of the worker under load', ['memory of the worker', 'plain pipeline, memory of the worker'], {
    atLeast: 250,
    aim: 200,
  }),
]

const workspaceLines = ({ workspaces }: BenchConfig): readonly Line[] => {
  const many = `${count(workspaces)} workspaces / one`
  return [
    ratio(`accepted, ${many}`, ['accepted, many workspaces', 'accepted, one workspace'], { atLeast: 0.8, aim: 1 }),
    ratio(`end to end, ${many}`, ['end to end, many workspaces', 'end to end, one workspace'], {
      atLeast: 0.6,
      aim: 0.9,
    }),
    {
      ...ratio(`processor time per submission, ${many}`, [
        'processor time per submission, many workspaces',
        'processor time per submission, one workspace',
      ]),
      good: 'less',
    },
  ]
}

/** What is about the same, and what it is compared with. */
const ALIKE = [
  ['one email', 'as many people'],
  ['100 emails', 'as many people'],
  ['one project', 'as many projects'],
  ['one contact', 'as many contacts'],
  ['one email of many ids', 'as many emails of many ids'],
  ['one email that all claim', 'as many emails that are claimed'],
  ['one id of many sources', 'as many ids of sources'],
] as const

const alikeLines = ({ alike }: BenchConfig): readonly Line[] =>
  ALIKE.flatMap(([same, others]): Line[] => [
    ratio(
      `accepted with ${count(alike)} of ${same} waiting / ${others}`,
      [`accepted, ${same} waiting`, `accepted, ${others} waiting`],
      { atLeast: 0.9 },
    ),
    {
      ...ratio('the same, processor time of Redis', [
        `Redis per admission, ${same} waiting`,
        `Redis per admission, ${others} waiting`,
      ]),
      good: 'less',
    },
  ])

const loneLines: readonly Line[] = [
  figure('lone submission: accepted until applied', ['applied after, lone submission'], { atLeast: 15 }),
  figure('the same, p95', ['applied after, p95 of lone submissions']),
  figure('lone submission: sent until seen in Postgres', ['seen in Postgres after, lone submission']),
  figure('the same, p95', ['seen in Postgres after, p95 of lone submissions']),
]

/** So many keys as the bound of their memory is meant for: fewer do not outweigh what Redis uses anyway. */
const JUDGED_KEYS = 1_000_000

const keyLines = ({ keys }: BenchConfig): readonly Line[] => {
  const settled = `${count(keys)} settled keys`
  const bounds = keys >= JUDGED_KEYS ? { atLeast: 70 } : {}
  return [
    figure(`Redis memory of ${settled}`, ['Redis memory of settled keys'], bounds),
    figure('submissions refused meanwhile', ['refused while keys come in'], { atLeast: 0 }),
    figure(`wrong answers to repeats of ${settled}`, ['wrong answers to repeats'], { atLeast: 0 }),
    figure('the same during a purge', ['wrong answers to repeats during a purge'], { atLeast: 0 }),
  ]
}

const sizeLines = ({ storedFeedback, storedContacts, backlog, purgedFeedback }: BenchConfig): readonly Line[] => {
  const stored = `${count(storedFeedback)} feedback of ${count(storedContacts)} contacts stored`
  const waiting = `${count(backlog)} waiting`
  const purged = `a contact with ${count(purgedFeedback)} feedback among ${count(storedFeedback)}`
  const overNone = { atLeast: 0.95, aim: 1 }
  return [
    ratio(`drained with ${stored} / none`, ['feedback drained with much stored', DRAINED], { atLeast: 0.9, aim: 1 }),
    ratio(`accepted with ${waiting} / none`, ['accepted with a backlog', ACCEPTED], overNone),
    ratio(`drained with ${waiting} / none`, ['feedback drained with a backlog', DRAINED], overNone),
    figure(`purge of ${purged}`, ['purge of a contact']),
    {
      ...ratio(`p99 at ${STEADY_PER_SECOND}/s during that purge / without`, [
        'p99 at a steady rate during a purge',
        'p99 at a steady rate without a purge',
      ]),
      good: 'less',
    },
  ]
}

const grownLines = ({ alike, purges }: BenchConfig): readonly Line[] => {
  const behind = `${count(purges)} purges behind it, a tenth of its people,`
  return [
    ratio(
      `drained of a contact with ${count(alike)} feedback / with none`,
      ['feedback of one contact with much drained', 'feedback of one contact drained'],
      { atLeast: 0.9, aim: 1 },
    ),
    ratio(
      `drained of a workspace with ${behind} / with none`,
      ['feedback drained after many purges', 'feedback drained without purges'],
      { atLeast: 0.9, aim: 1 },
    ),
    ratio('accepted, the same', ['accepted after many purges', 'accepted without purges'], { atLeast: 0.9, aim: 1 }),
  ]
}

/** The lines whose figures were taken, judged. */
export const judgeLines = (config: BenchConfig, measures: Measures): JudgedLine[] => {
  return linesFor(config)
    .filter(({ ours }) => measures.of(ours).length > 0)
    .map((line) => judged(line, measures))
}

const judged = (line: Line, measures: Measures): JudgedLine => {
  const ours = measures.of(line.ours)
  const besides = line.besides === undefined ? [] : measures.of(line.besides)
  const own = summarise(ours)
  if (besides.length !== ours.length) {
    return { ...line, figure: own, verdict: line.judged === 'figure' ? verdictOf(line, own.median) : 'stated' }
  }
  const quotient = summarise(ours.map((value, round) => value / besides[round]!))
  const verdict = verdictOf(line, line.judged === 'figure' ? own.median : quotient.median)
  return { ...line, figure: own, beside: summarise(besides), ratio: quotient, verdict }
}

const verdictOf = ({ good, atLeast, aim }: Line, value: number): Verdict => {
  const reaches = (bound: number): boolean => (good === 'more' ? value >= bound : value <= bound)
  if (aim !== undefined && reaches(aim)) return 'aim reached'
  if (atLeast === undefined) return 'stated'
  return reaches(atLeast) ? 'enough' : 'falls short'
}

const count = (value: number): string => value.toLocaleString('en')
