import type { BenchConfig } from './bench-config.ts'
import type { Measures } from './figures/measures.ts'
import { untilFinished } from './installation/finished.ts'
import type { Service, ServiceNeeds } from './installation/service.ts'
import type { LoadGenerator } from './load/load-generator.ts'
import type { LoadOrder, LoadResult, Numbers } from './load/order.ts'
import type { PlainVariants } from './plain/plain-variants.ts'

/** Sections that name the same service share it. */
type ServiceName =
  | 'main'
  | 'stored'
  | 'backlog'
  | 'deno'
  | 'kinds'
  | 'workspaces'
  | 'memory'
  | 'lone'
  | 'idle'
  | 'curve'
  | 'other'
  | 'reads'
  | 'heavy'
  | 'snapshot'
  | 'master'
  | 'replicated'

/** The services, loads and measurements that the sections of the benchmark share. */
export type Rig = {
  readonly config: BenchConfig
  readonly measures: Measures
  readonly load: LoadGenerator
  /** Started by the first call. */
  readonly plain: () => Promise<PlainVariants>
  /** The addresses that need no `warmUp`. */
  readonly warm: Set<string>
  /** The number of accepted requests, by the origin of their address. */
  readonly accepted: Map<string, number>
  readonly serverPids: { readonly Redis: number; readonly Postgres: number }
  /** Started by the first call for a name. */
  readonly service: (
    name: ServiceName,
    /** With `redisMemoryBytes`, the service has its own Redis. */
    needs?: ServiceNeeds & { readonly redisMemoryBytes?: number },
  ) => Promise<Service>
  /** Starts a replica of a service's Redis. */
  readonly startReplica: (service: Service) => Promise<void>
  readonly say: (line: string) => void
  /** Reserves this many unused numbers for bodies, and returns the first. */
  readonly takeNumbers: (count: number) => number
}

/** A part of the benchmark. Its creation prepares the services, and each round adds figures. */
type Section = { readonly round: () => Promise<void> }
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

/**
 * Sends new bodies, unless `how` has numbers.
 * @throws when the load was not complete in its time, if `how` has numbers
 */
export const loadWith = async (rig: Rig, target: LoadTarget, how: LoadHow = {}): Promise<LoadResult> => {
  const order = orderFor(rig, target, how)
  const result = await rig.load.run(order)
  addAccepted(rig, target.url, result.accepted)
  if (how.numbers !== undefined && result.accepted < how.numbers.most) {
    throw new Error(`${target.url} took only ${result.accepted} of ${how.numbers.most} requests in ${order.seconds} s`)
  }
  return result
}

type SubmissionRequest = { token?: string; path: string; body: object; idempotencyKey?: string }

/**
 * Submits one body outside of a load, and returns the id of the submission.
 * @throws when the service refuses it
 */
export const submit = async (
  rig: Rig,
  service: Service,
  { token = service.token, path, body, idempotencyKey }: SubmissionRequest,
): Promise<string> => {
  const answer = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
    },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  const id = answer.headers.get('Submission-Id')
  if (!answer.ok || id === null) throw new Error(`${path} was answered ${answer.status}: ${text}`)
  addAccepted(rig, service.url, 1)
  return id
}

const addAccepted = ({ accepted }: Rig, url: string, count: number): void => {
  const { origin } = new URL(url)
  accepted.set(origin, (accepted.get(origin) ?? 0) + count)
}

/** Waits until a service has finished all submissions of loads and of `submit`. */
export const untilAllFinished = (rig: Rig, service: Service): Promise<void> =>
  untilFinished(service, rig.accepted.get(new URL(service.url).origin) ?? 0)

const WARM_LOADS = 3

/** A new process is slower until its code is compiled. */
export const warmUp = async (rig: Rig, targets: readonly LoadTarget[]): Promise<void> => {
  for (const target of targets.filter(({ url }) => !rig.warm.has(url))) {
    await loadWith(rig, target, { seconds: WARM_LOADS * rig.config.seconds, idempotencyKeys: true })
    rig.warm.add(target.url)
  }
}

/** The time limit of a load that ends by its number of requests. */
const LONGEST_LOAD_SECONDS = 3_600

const orderFor = (rig: Rig, target: LoadTarget, how: LoadHow): LoadOrder => ({
  ...target,
  connections: rig.config.connections,
  seconds: rig.config.seconds,
  people: rig.config.storedContacts,
  kind: 'feedback',
  numbers: newNumbers(rig, MOST_REQUESTS),
  idempotencyKeys: false,
  ...how,
})

/** A range of this many unused numbers. */
export const newNumbers = ({ takeNumbers }: Rig, most: number): Numbers => ({ from: takeNumbers(most), most })

/** A load of exactly this many requests. */
export const loadOf = (numbers: Numbers, how: LoadHow = {}): LoadHow => ({
  numbers,
  seconds: LONGEST_LOAD_SECONDS,
  idempotencyKeys: true,
  ...how,
})
