import { setTimeout as pause } from 'node:timers/promises'
import { type Load, startLoad } from './load.ts'
import { recovery } from './recovery.ts'
import type { HostName, Roles, Sites } from './sites.ts'
import { until } from './until.ts'

type Way = readonly [from: HostName, to: HostName]

const both = (one: HostName, others: readonly HostName[]): Way[] =>
  others.flatMap((other): Way[] => [
    [one, other],
    [other, one],
  ])
const others = (name: HostName, all: readonly HostName[]): HostName[] => all.filter((other) => other !== name)

/** Which ways part. */
export const PARTITIONS: Readonly<Record<string, (roles: Roles) => readonly Way[]>> = {
  'the API from Redis': ({ master }) => both('api', [master]),
  'the API from Redis, towards Redis only': ({ master }) => [['api', master]],
  'the API from Redis, towards the API only': ({ master }) => [[master, 'api']],
  'the API from Postgres': ({ primary }) => both('api', [primary]),
  'a worker from Redis': ({ master }) => both('worker', [master]),
  'a worker from Postgres': ({ primary }) => both('worker', [primary]),
  'a worker from Postgres, towards the worker only': ({ primary }) => [[primary, 'worker']],
  'Redis from its replicas': ({ master, replicas }) => both(master, replicas),
  'Postgres from its standby': () => both('postgres1', ['postgres2']),
  'the site of the master of Redis from all others': ({ master, all }) => both(master, others(master, all)),
}
/** Those that are others when Redis is a cluster: one of its masters is meant, which has the books. */
export const PARTITIONS_OF_CLUSTERS = [
  'the API from Redis',
  'a worker from Redis',
  'Redis from its replicas',
  'the site of the master of Redis from all others',
]

/** Lets the network part. The result mends it. */
export const part = async ({ network, roles }: Sites, name: string): Promise<() => void> => {
  const mends = PARTITIONS[name]!(await roles()).map(([from, to]) => network.cut(from, to))
  return () => {
    for (const mend of mends) mend()
  }
}

export type Outcome = {
  readonly seen: Load['seen']
  /** From the mending on: until something was accepted, and until all that was accepted was applied. */
  readonly acceptsMs: number
  readonly appliedMs: number
}

export const askedOf = ({ service }: Sites) => ({
  ...service,
  url: service.urls[0]!,
  prefix: service.redisPrefix,
})

/** Clients submit before, while and after something is wrong. `strike` resolves when it is mended. */
export const underLoad = async (sites: Sites, strike: () => Promise<void>): Promise<Outcome> => {
  const load = startLoad(askedOf(sites))
  const more = (count: number) =>
    until('more is accepted', () => Promise.resolve(load.seen.accepted.size > count + 20), 60_000)
  try {
    await more(0)
    await strike()
    const mendedAt = performance.now()
    await more(load.seen.accepted.size)
    const acceptsMs = performance.now() - mendedAt
    await load.stop()
    await recovery(askedOf(sites), load.seen)
    const appliedMs = performance.now() - mendedAt
    await sites.isWhole()
    return { seen: load.seen, acceptsMs, appliedMs }
  } finally {
    await load.stop()
  }
}

/** Parts the network for so long, or ten times as often and each a tenth of it with as much in between. */
export const partFor =
  (sites: Sites, { name, ms, isFlapping }: { name: string; ms: number; isFlapping: boolean }) =>
  async (): Promise<void> => {
    const times = isFlapping ? 10 : 1
    for (let time = 0; time < times; time++) {
      const mend = await part(sites, name)
      await pause(ms / times)
      mend()
      if (isFlapping) await pause(ms / times)
    }
  }

export const describeOutcome = ({ seen, acceptsMs, appliedMs }: Outcome): string =>
  `${seen.accepted.size} confirmed, ${seen.refused} refused, ${seen.unknown} unknown, slowest ${Math.round(seen.slowestMs)} ms; ` +
  `accepts after ${Math.round(acceptsMs)} ms, all applied after ${Math.round(appliedMs)} ms`
