import type { BenchConfig } from './bench-config.ts'
import { feedbackBody } from './bodies.ts'
import type { Installation } from './installation/installation.ts'
import type { LoadGenerator } from './load/load-generator.ts'
import type { LoadOrder, LoadResult, Numbers } from './load/order.ts'
import type { Measures } from './figures/measures.ts'
import type { PlainVariants } from './plain/plain-variants.ts'
import type { ServerUrls, Service } from './installation/service.ts'
import type { Runtime } from './installation/program.ts'

export type InstallationName = 'main' | 'stored' | 'backlog' | 'deno' | 'grown' | 'purged'
/** Sections of these names have a service of their own, and its queues are nothing that they know. */
export type ServiceName = 'workspaces' | 'memory' | 'keys' | 'lone' | 'alike' | 'master' | 'replicated'

/** What the sections of the benchmark work with. */
export type Rig = {
  readonly config: BenchConfig
  readonly measures: Measures
  readonly load: LoadGenerator
  /** Started when they are first asked for. */
  readonly plain: () => Promise<PlainVariants>
  readonly urls: ServerUrls
  /** Addresses whose processes have had a load already. */
  readonly warm: Set<string>
  readonly serverPids: { readonly Redis: number; readonly Postgres: number }
  /** Started when it is first asked for, with its queue of feedback paused. */
  readonly installation: (name: InstallationName, runtime?: Runtime) => Promise<Installation>
  /** Started when it is first asked for; with a bound of memory, on a Redis of its own. */
  readonly service: (name: ServiceName, redisMemoryBytes?: number, replicasAck?: number) => Promise<Service>
  /** Starts a Redis that follows the one of a service. */
  readonly startReplica: (service: Service) => Promise<void>
  readonly say: (line: string) => void
  /** The first of so many numbers that no body has had yet. */
  readonly takeNumbers: (count: number) => number
}

/** A part of the benchmark: what it takes to begin with has happened; each round adds its figures. */
export type Section = {
  readonly round: () => Promise<void>
  /** What is printed below the table, after all rounds. */
  readonly report?: () => string
}
export type CreateSection = (rig: Rig) => Promise<Section>

const MOST_REQUESTS = 10_000_000

export type LoadTarget = Pick<LoadOrder, 'url' | 'tokens'>

export const feedbackTarget = ({ url, token }: Service): LoadTarget => ({ url: `${url}/feedbacks`, tokens: [token] })

export const plainTarget = ({ token }: PlainVariants, port: number): LoadTarget => ({
  url: `http://127.0.0.1:${port}/feedbacks`,
  tokens: [token],
})

type How = Partial<Omit<LoadOrder, keyof LoadTarget | 'connections'>>

/** Sends feedback that nobody has sent before. */
export const loadWith = (rig: Rig, target: LoadTarget, how: How = {}): Promise<LoadResult> =>
  rig.load.run(orderFor(rig, target, how))

export const WARM_LOADS = 3

/** A process that was just started takes twice the time for a request that it takes once its code is compiled. */
export const warmUp = async (rig: Rig, targets: readonly LoadTarget[]): Promise<void> => {
  for (const target of targets.filter(({ url }) => !rig.warm.has(url))) {
    await loadWith(rig, target, { seconds: WARM_LOADS * rig.config.seconds, idempotencyKeys: true })
    rig.warm.add(target.url)
  }
}

/**
 * So many loads long is one that shows what can be kept up. After a pause a process compiles its code again: JavaScriptCore drops what has not
 * run for 15 to 60 s. Source: https://github.com/WebKit/WebKit/blob/main/Source/JavaScriptCore/bytecode/CodeBlock.cpp (timeToLive)
 */
export const SUSTAINED_LOADS = 4

/** For a load whose time is as long as it takes. */
export const LONGEST_LOAD_SECONDS = 600

export const orderFor = ({ config, takeNumbers }: Rig, target: LoadTarget, how: How): LoadOrder => ({
  ...target,
  connections: config.connections,
  seconds: config.seconds,
  people: config.storedContacts,
  kind: 'feedback',
  numbers: newNumbers(takeNumbers, MOST_REQUESTS),
  idempotencyKeys: false,
  ...how,
})

/** So many at most, of numbers that no body has had yet. */
export const newNumbers = (takeNumbers: Rig['takeNumbers'], most: number): Numbers & { from: number } => ({
  from: takeNumbers(most),
  most,
})

/** How much is drained in one measurement. What takes longer is cut off: six minutes have to do for everything. */
export const drainBounds = ({ drained, seconds }: BenchConfig) => ({ jobs: drained, mostSeconds: 1.5 * seconds })

/** Feedback to fill a queue with. */
export const feedbackFilling = ({ config, takeNumbers }: Pick<Rig, 'config' | 'takeNumbers'>, count: number) => ({
  from: takeNumbers(count),
  count,
  bodyOf: (index: number) => feedbackBody(index, { people: config.storedContacts }),
})
