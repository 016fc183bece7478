import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import * as fc from 'fast-check'
import { freeze } from '../support/kept-process.ts'
import { whyNoNetwork } from '../support/network.ts'
import { describeFaults, type Fault } from '../support/describe-faults.ts'
import {
  partFor,
  PARTITIONS,
  PARTITIONS_OF_CLUSTERS,
  type HostName,
  hostsWith,
  type Sites,
  startSites,
} from '../support/sites.ts'
import { seeded } from '../support/property-seed.ts'
import type { RedisKind } from '../support/sites-redis.ts'

type OnHosts = Sites['service'] & { readonly sites: Sites }

const LONG = process.env['TEST_SIZE'] === 'long'
const FAULTS = LONG ? 100 : 5
const TIMES = [
  { ms: 1_000, isFlapping: false },
  ...(LONG ? [10_000, 60_000].map((ms) => ({ ms, isFlapping: false })) : []),
  ...(LONG ? [{ ms: 5_000, isFlapping: true }] : []),
]
/**
 * Answers get lost. A master can fail after a worker has stored an admission that the promoted
 * replica lacks.
 */
const ON_A_NETWORK = { purges: false, forgets: true }

const startOn = async (kind: RedisKind) => {
  const sites = await startSites(kind)
  return { ...sites.service, sites, untilReady: sites.untilWhole, stop: sites.stop }
}

const partitions = (names: readonly string[]): Fault<OnHosts>[] =>
  TIMES.flatMap((time) =>
    names.map((name) => ({
      ...ON_A_NETWORK,
      fault: `the network parts ${name} ${time.isFlapping ? 'ten times for half a second' : `for ${time.ms / 1_000} s`}`,
      strike: ({ sites }) => partFor(sites, { name, ...time }),
    })),
  )

const faultsOf = (hosts: readonly HostName[]) =>
  fc.oneof(
    fc.record({
      kind: fc.constant('part' as const),
      name: fc.constantFrom(...Object.keys(PARTITIONS)),
      ms: fc.integer({ min: 100, max: 4_000 }),
      isFlapping: fc.boolean(),
    }),
    fc.record({
      kind: fc.constantFrom('take down' as const, 'freeze' as const),
      host: fc.constantFrom(...hosts),
      ms: fc.integer({ min: 100, max: 4_000 }),
    }),
  )
const randomFaults = (kind: RedisKind): Fault<OnHosts> => ({
  ...ON_A_NETWORK,
  fault: `${FAULTS} faults in a row`,
  strike: async ({ sites }) => {
    for (const fault of fc.sample(faultsOf(hostsWith(kind)), { numRuns: FAULTS, ...seeded() })) {
      if (fault.kind === 'part') await partFor(sites, fault)
      else {
        const isFrozen = fault.kind === 'freeze'
        const mend = isFrozen ? freeze({ pid: () => sites.pidOf(fault.host) }) : sites.network.takeDown(fault.host)
        await pause(fault.ms)
        mend()
      }
      await sites.untilWhole()
    }
  },
})

describeFaults('a service on seven hosts', {
  missing: whyNoNetwork(),
  start: () => startOn('sentinels'),
  rows: [...partitions(Object.keys(PARTITIONS)), randomFaults('sentinels')],
})

// The faults of a cluster differ little from the faults with sentinels: short runs leave them out.
if (LONG)
  describeFaults('a service on ten hosts, with a Redis Cluster', {
    missing: whyNoNetwork(),
    start: () => startOn('cluster'),
    rows: [...partitions(PARTITIONS_OF_CLUSTERS), randomFaults('cluster')],
  })
