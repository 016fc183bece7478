/** Requests a second of a steady load. */
export const STEADY_PER_SECOND = 500

/** The size and length of a run. */
export type BenchConfig = {
  readonly rounds: number
  /** How long a usual load lasts. Some loads last several times as long. */
  readonly seconds: number
  readonly connections: number
  /** Feedback stored in advance in the sections `size` and `purge`. */
  readonly storedFeedback: number
  /** The number of people who give feedback. */
  readonly storedContacts: number
  /** Submissions queued in advance in the section `backlog`. */
  readonly backlog: number
  /** Feedback of each contact that is purged or absorbed. */
  readonly purgedFeedback: number
  /** Workspaces whose tokens take turns. */
  readonly workspaces: number
  /** Workspaces without work in the section `idle`. */
  readonly idleWorkspaces: number
  /** Submissions that wait while the memory of Redis is measured. */
  readonly waiting: number
  /** Submissions of each kind in the section `parts`. Conversations are fewer. */
  readonly ofKind: number
  /** Submissions sent one by one, in all rounds together. Watched ones are extra. */
  readonly lone: number
  /** Feedback stored in advance in the section `reads`. */
  readonly readFeedback: number
  /** How long a reader holds a snapshot. */
  readonly snapshotSeconds: number
  /** The folder of another version to compare with in the section `curve`. */
  readonly otherCheckout: string | undefined
  readonly output: string
}

// With these, a run of the usual sections takes a few minutes on two cores.
const DEFAULTS = {
  BENCH_ROUNDS: 3,
  BENCH_CONNECTIONS: 64,
  BENCH_STORED: 200_000,
  BENCH_CONTACTS: 20_000,
  BENCH_BACKLOG: 60_000,
  BENCH_PURGED: 10_000,
  BENCH_WORKSPACES: 1_000,
  BENCH_IDLE_WORKSPACES: 100_000,
  BENCH_WAITING: 20_000,
  BENCH_OF_KIND: 20_000,
  BENCH_LONE: 200,
  BENCH_READ_FEEDBACK: 1_000_000,
  BENCH_SNAPSHOT_SECONDS: 1_200,
} as const

const WHOLE_NUMBER = /^[1-9]\d{0,8}$/
const SECONDS = /^\d{1,3}(?:\.\d{1,3})?$/
const DEFAULT_SECONDS = 2
const DEFAULT_OUTPUT = 'bench-results.json'

/** @throws when a numeric variable is not a number, or is out of range */
export const readBenchConfig = (environment: Readonly<Record<string, string | undefined>>): BenchConfig => {
  const number = (name: keyof typeof DEFAULTS): number => {
    const given = environment[name]
    if (given === undefined || given === '') return DEFAULTS[name]
    if (!WHOLE_NUMBER.test(given)) throw new Error(`${name} must be a whole number from 1 to 999999999`)
    return Number(given)
  }
  return Object.freeze({
    rounds: number('BENCH_ROUNDS'),
    seconds: secondsFrom(environment['BENCH_SECONDS']),
    connections: number('BENCH_CONNECTIONS'),
    storedFeedback: number('BENCH_STORED'),
    storedContacts: number('BENCH_CONTACTS'),
    backlog: number('BENCH_BACKLOG'),
    purgedFeedback: number('BENCH_PURGED'),
    workspaces: number('BENCH_WORKSPACES'),
    idleWorkspaces: number('BENCH_IDLE_WORKSPACES'),
    waiting: number('BENCH_WAITING'),
    ofKind: number('BENCH_OF_KIND'),
    lone: number('BENCH_LONE'),
    readFeedback: number('BENCH_READ_FEEDBACK'),
    snapshotSeconds: number('BENCH_SNAPSHOT_SECONDS'),
    otherCheckout: environment['BENCH_OTHER_CHECKOUT'] || undefined,
    output: environment['BENCH_OUTPUT'] || DEFAULT_OUTPUT,
  })
}

const secondsFrom = (given: string | undefined): number => {
  if (given === undefined || given === '') return DEFAULT_SECONDS
  if (!SECONDS.test(given) || Number(given) === 0) {
    throw new Error('BENCH_SECONDS must be a number of seconds from 0.001 to 999.999, such as 2 or 0.5')
  }
  return Number(given)
}
