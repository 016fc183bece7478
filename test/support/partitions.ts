import { setTimeout as pause } from 'node:timers/promises'
import type { HostName, Roles, Sites } from './sites.ts'

type Way = readonly [from: HostName, to: HostName]

const both = (one: HostName, others: readonly HostName[]): Way[] =>
  others.flatMap((other): Way[] => [
    [one, other],
    [other, one],
  ])
const others = (name: HostName, all: readonly HostName[]): HostName[] => all.filter((other) => other !== name)

/** The directions without a connection. */
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
/** Partitions that differ if Redis is a cluster: they concern the master with the books. */
export const PARTITIONS_OF_CLUSTERS = [
  'the API from Redis',
  'a worker from Redis',
  'Redis from its replicas',
  'the site of the master of Redis from all others',
]

/** Partitions the network. The result mends it. */
const part = async ({ network, roles }: Sites, name: string): Promise<() => void> => {
  const mends = PARTITIONS[name]!(await roles()).map(([from, to]) => network.cut(from, to))
  return () => {
    for (const mend of mends) mend()
  }
}

/** Partitions the network for this time, or ten times for a tenth of it, with equal pauses. */
export const partFor = async (
  sites: Sites,
  { name, ms, isFlapping }: { name: string; ms: number; isFlapping: boolean },
): Promise<void> => {
  const times = isFlapping ? 10 : 1
  for (let time = 0; time < times; time++) {
    const mend = await part(sites, name)
    await pause(ms / times)
    mend()
    if (isFlapping) await pause(ms / times)
  }
}
