import type { BenchConfig } from './bench-config.ts'
import { feedbackBody } from './bodies.ts'
import type { Installation } from './installation/installation.ts'
import type { LoadGenerator } from './load/load-generator.ts'
import type { LoadOrder, LoadResult } from './load/order.ts'
import type { Measures } from './figures/measures.ts'
import type { PlainVariants } from './plain/plain-variants.ts'
import type { Runtime } from './installation/program.ts'

export type InstallationName = 'main' | 'stored' | 'backlog' | 'deno'

/** What the sections of the benchmark work with. */
export type Rig = {
  readonly config: BenchConfig
  readonly measures: Measures
  readonly load: LoadGenerator
  readonly plain: PlainVariants
  readonly serverPids: { readonly Redis: number; readonly Postgres: number }
  /** Started when it is first asked for, with its queue of feedback paused. */
  readonly installation: (name: InstallationName, runtime?: Runtime) => Promise<Installation>
  /** The first of so many numbers that no body has had yet. */
  readonly takeNumbers: (count: number) => number
}

/** A part of the benchmark: what it takes to begin with has happened; each round adds its figures. */
export type Section = { readonly round: () => Promise<void> }
export type CreateSection = (rig: Rig) => Promise<Section>

const MOST_REQUESTS = 10_000_000

export type LoadTarget = { readonly url: string; readonly token: string }

export const feedbackTarget = ({ url, token }: Installation): LoadTarget => ({ url: `${url}/feedbacks`, token })

export const plainTarget = ({ token }: PlainVariants, port: number): LoadTarget => ({
  url: `http://127.0.0.1:${port}/feedbacks`,
  token,
})

/** Sends feedback that nobody has sent before. */
export const loadWith = (
  { config, load, takeNumbers }: Rig,
  target: LoadTarget,
  how: Partial<Pick<LoadOrder, 'perSecond' | 'seconds' | 'idempotencyKeys'>> = {},
): Promise<LoadResult> =>
  load.run({
    ...target,
    connections: config.connections,
    seconds: config.seconds,
    people: config.storedContacts,
    from: takeNumbers(MOST_REQUESTS),
    idempotencyKeys: false,
    ...how,
  })

/** How much is drained in one measurement. What takes longer is cut off: five minutes have to do for everything. */
export const drainBounds = ({ drained, seconds }: BenchConfig) => ({ jobs: drained, mostSeconds: 1.5 * seconds })

/** Feedback to fill a queue with. */
export const feedbackFilling = ({ config, takeNumbers }: Pick<Rig, 'config' | 'takeNumbers'>, count: number) => ({
  from: takeNumbers(count),
  count,
  bodyOf: (index: number) => feedbackBody(index, { people: config.storedContacts }),
})
