import type { BenchConfig } from './bench-config.ts'
import type { Measures } from './figures/measures.ts'
import type { Runtime } from './installation/program.ts'
import { untilFinished } from './installation/finished.ts'
import type { ServerUrls, Service } from './installation/service.ts'
import type { LoadGenerator } from './load/load-generator.ts'
import type { LoadOrder, LoadResult, Numbers } from './load/order.ts'
import type { PlainVariants } from './plain/plain-variants.ts'

/** Sections that name the same service share it. */
export type ServiceName =
  | 'main'
  | 'stored'
  | 'backlog'
  | 'deno'
  | 'kinds'
  | 'workspaces'
  | 'memory'
  | 'lone'
  | 'reads'
  | 'master'
  | 'replicated'

export type ServiceNeeds = {
  readonly runtime?: Runtime
  /** With a bound of memory the service has a Redis of its own. */
  readonly redisMemoryBytes?: number
  readonly replicasAck?: number
}

/** The things that all sections of the benchmark work with. */
export type Rig = {
  readonly config: BenchConfig
  readonly measures: Measures
  readonly load: LoadGenerator
  /** Started by the first call. */
  readonly plain: () => Promise<PlainVariants>
  readonly urls: ServerUrls
  /** Addresses whose processes have had a load. */
  readonly warm: Set<string>
  /** How many requests each service has accepted, by its origin. */
  readonly accepted: Map<string, number>
  readonly serverPids: { readonly Redis: number; readonly Postgres: number }
  /** Started by the first call for a name. */
  readonly service: (name: ServiceName, needs?: ServiceNeeds) => Promise<Service>
  /** Starts a Redis that follows the one of a service. */
  readonly startReplica: (service: Service) => Promise<void>
  readonly say: (line: string) => void
  /** The first of so many numbers that no body has had yet. */
  readonly takeNumbers: (count: number) => number
}

/** A part of the benchmark. Creating it prepares its services, and each round adds its figures. */
export type Section = {
  readonly round: () => Promise<void>
  /** A text that is printed below the table, after all rounds. */
  readonly report?: () => string
}
export type CreateSection = (rig: Rig) => Promise<Section>

const MOST_REQUESTS = 10_000_000

export type LoadTarget = Pick<LoadOrder, 'url' | 'tokens'>

export const targetOf = ({ url, token }: Service, path: string): LoadTarget => ({
  url: `${url}${path}`,
  tokens: [token],
})

export const feedbackTarget = (service: Service): LoadTarget => targetOf(service, '/feedbacks')

export const plainTarget = ({ token }: PlainVariants, port: number): LoadTarget => ({
  url: `http://127.0.0.1:${port}/feedbacks`,
  tokens: [token],
})

export type LoadHow = Partial<Omit<LoadOrder, keyof LoadTarget | 'connections'>>

/** Sends bodies that were not sent before, unless `how` names numbers. */
export const loadWith = async (rig: Rig, target: LoadTarget, how: LoadHow = {}): Promise<LoadResult> => {
  const result = await rig.load.run(orderFor(rig, target, how))
  const { origin } = new URL(target.url)
  rig.accepted.set(origin, (rig.accepted.get(origin) ?? 0) + result.accepted)
  return result
}

/** Waits until a service has finished all that its loads have brought. */
export const untilAllFinished = (rig: Rig, service: Service): Promise<void> =>
  untilFinished(service, rig.accepted.get(new URL(service.url).origin) ?? 0)

const WARM_LOADS = 3

/**
 * A process that was just started takes twice the time for a request that it takes once its code is
 * compiled.
 */
export const warmUp = async (rig: Rig, targets: readonly LoadTarget[]): Promise<void> => {
  for (const target of targets.filter(({ url }) => !rig.warm.has(url))) {
    await loadWith(rig, target, { seconds: WARM_LOADS * rig.config.seconds, idempotencyKeys: true })
    rig.warm.add(target.url)
  }
}

/**
 * A load of so many loads shows which rate can be kept up. After a pause a process compiles its
 * code again: JavaScriptCore drops code that has not run for 15 to 60 s.
 * Source: https://github.com/WebKit/WebKit/blob/main/Source/JavaScriptCore/bytecode/CodeBlock.cpp
 * (timeToLive)
 */
export const SUSTAINED_LOADS = 4

/** For a load that ends by its number of requests. */
export const LONGEST_LOAD_SECONDS = 600

const orderFor = ({ config, takeNumbers }: Rig, target: LoadTarget, how: LoadHow): LoadOrder => ({
  ...target,
  connections: config.connections,
  seconds: config.seconds,
  people: config.storedContacts,
  kind: 'feedback',
  numbers: newNumbers(takeNumbers, MOST_REQUESTS),
  idempotencyKeys: false,
  ...how,
})

/** So many numbers at most that no body has had yet. */
export const newNumbers = (takeNumbers: Rig['takeNumbers'], most: number): Numbers & { from: number } => ({
  from: takeNumbers(most),
  most,
})

/** A load of exactly so many requests. */
export const loadOf = (numbers: Numbers, how: LoadHow = {}): LoadHow => ({
  numbers,
  seconds: LONGEST_LOAD_SECONDS,
  idempotencyKeys: true,
  ...how,
})
