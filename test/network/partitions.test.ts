import { after, before, it } from 'node:test'
import process from 'node:process'
import { whyNoNetwork } from '../support/network.ts'
import {
  askedOf,
  describeOutcome,
  partFor,
  PARTITIONS,
  PARTITIONS_OF_CLUSTERS,
  underLoad,
} from '../support/partitions.ts'
import { assertNothingLost, assertWellAnswered } from '../support/recovery.ts'
import { type Sites, startSites } from '../support/sites.ts'
import { describeWhere } from '../support/where.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
const DURATIONS_MS = LONG ? [1_000, 10_000, 60_000] : [1_000]
const WAYS_OF_TIME = [
  ...DURATIONS_MS.map((ms) => ({ ms, isFlapping: false })),
  ...(LONG ? [{ ms: 5_000, isFlapping: true }] : []),
]

const RIGS = [
  { title: 'a service on seven hosts', kind: 'sentinels', names: Object.keys(PARTITIONS) },
  { title: 'a service on ten hosts, with a Redis Cluster', kind: 'cluster', names: PARTITIONS_OF_CLUSTERS },
] as const

for (const { title, kind, names } of RIGS)
  describeWhere(title, whyNoNetwork(), () => {
    let sites: Sites
    let unconfirmed = 0
    before(async () => {
      sites = await startSites(kind)
    })
    after(() => sites?.stop())

    for (const time of WAYS_OF_TIME)
      for (const name of names) {
        const howLong = time.isFlapping ? 'ten times for half a second' : `for ${time.ms / 1_000} s`
        it(`loses nothing and stores nothing twice when the network parts ${name} ${howLong}`, async () => {
          const outcome = await underLoad(sites, partFor(sites, { name, ...time }))
          console.log(`${name}, ${howLong}, ${kind}: ${describeOutcome(outcome)}`)
          unconfirmed += outcome.seen.refused + outcome.seen.unknown
          await assertNothingLost(askedOf(sites), outcome.seen, unconfirmed)
          assertWellAnswered(outcome.seen)
        })
      }
  })
