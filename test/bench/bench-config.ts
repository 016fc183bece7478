/** Requests a second while a contact is purged. */
export const STEADY_PER_SECOND = 500

/** How large and how long a run is. Printed with the table, because every figure depends on it. */
export type BenchConfig = {
  readonly rounds: number
  /** How long each load lasts. */
  readonly seconds: number
  readonly connections: number
  /** Jobs that are drained in one measurement; of conversations a twentieth. */
  readonly drained: number
  /** What is stored already in the installation that the line of the size is about. */
  readonly storedFeedback: number
  readonly storedContacts: number
  /** What waits already in the installation that the line of the backlog is about. */
  readonly backlog: number
  /** Feedback of each contact that is purged, part of what is stored; one contact a round. */
  readonly purgedFeedback: number
  /** Purges that are done already in the installation that the line of them is about. */
  readonly purges: number
  /** Workspaces whose tokens take turns. */
  readonly workspaces: number
  /** Submissions about the same that wait while more come, and as many about as many. */
  readonly alike: number
  /** Submissions that wait while Redis is weighed. */
  readonly waiting: number
  /** Submissions with an `Idempotency-Key` that are settled before some of them are repeated. */
  readonly keys: number
  /** What decides which ones are repeated. */
  readonly seed: number
  /** Submissions that come one by one, in all rounds together. */
  readonly lone: number
  readonly output: string
}

// With these a run takes about six minutes on two cores.
const DEFAULTS = {
  BENCH_ROUNDS: 3,
  BENCH_CONNECTIONS: 64,
  BENCH_DRAINED: 20_000,
  BENCH_STORED: 200_000,
  BENCH_CONTACTS: 20_000,
  BENCH_BACKLOG: 60_000,
  BENCH_PURGED: 10_000,
  BENCH_PURGES: 10_000,
  BENCH_WORKSPACES: 1_000,
  BENCH_ALIKE: 100_000,
  BENCH_WAITING: 20_000,
  BENCH_KEYS: 1_000_000,
  BENCH_SEED: 1,
  BENCH_LONE: 200,
} as const

const WHOLE_NUMBER = /^[1-9]\d{0,8}$/
const SECONDS = /^\d{1,3}(?:\.\d{1,3})?$/
const DEFAULT_SECONDS = 2
const DEFAULT_OUTPUT = 'bench-results.json'

/** @throws when a variable is no number, or more is to be purged than is stored. */
export const readBenchConfig = (environment: Readonly<Record<string, string | undefined>>): BenchConfig => {
  const number = (name: keyof typeof DEFAULTS): number => {
    const given = environment[name]
    if (given === undefined || given === '') return DEFAULTS[name]
    if (!WHOLE_NUMBER.test(given)) throw new Error(`${name} must be a whole number from 1 to 999999999`)
    return Number(given)
  }
  const config: BenchConfig = {
    rounds: number('BENCH_ROUNDS'),
    seconds: secondsFrom(environment['BENCH_SECONDS']),
    connections: number('BENCH_CONNECTIONS'),
    drained: number('BENCH_DRAINED'),
    storedFeedback: number('BENCH_STORED'),
    storedContacts: number('BENCH_CONTACTS'),
    backlog: number('BENCH_BACKLOG'),
    purgedFeedback: number('BENCH_PURGED'),
    purges: number('BENCH_PURGES'),
    workspaces: number('BENCH_WORKSPACES'),
    alike: number('BENCH_ALIKE'),
    waiting: number('BENCH_WAITING'),
    keys: number('BENCH_KEYS'),
    seed: number('BENCH_SEED'),
    lone: number('BENCH_LONE'),
    output: environment['BENCH_OUTPUT'] || DEFAULT_OUTPUT,
  }
  if (config.rounds * config.purgedFeedback >= config.storedFeedback) {
    throw new Error('BENCH_STORED must be more than BENCH_ROUNDS times BENCH_PURGED, which is part of it')
  }
  return Object.freeze(config)
}

const secondsFrom = (given: string | undefined): number => {
  if (given === undefined || given === '') return DEFAULT_SECONDS
  if (!SECONDS.test(given) || Number(given) === 0) throw new Error('BENCH_SECONDS must be seconds, such as 2 or 0.5')
  return Number(given)
}
