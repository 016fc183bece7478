import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import * as fc from 'fast-check'
import { freeze } from '../support/kept-process.ts'
import { whyNoNetwork } from '../support/network.ts'
import { askedOf, describeOutcome, partFor, PARTITIONS, underLoad } from '../support/partitions.ts'
import { seeded } from '../support/property-seed.ts'
import { assertNothingLost, assertWellAnswered } from '../support/recovery.ts'
import { type HostName, hostsWith, type Sites, startSites } from '../support/sites.ts'
import { describeWhere } from '../support/where.ts'

const FAULTS = process.env['TEST_SIZE'] === 'long' ? 100 : 5

const RIGS = {
  'a service on seven hosts': 'sentinels',
  'a service on ten hosts, with a Redis Cluster': 'cluster',
} as const

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

for (const [title, redis] of Object.entries(RIGS))
  describeWhere(title, whyNoNetwork(), () => {
    let sites: Sites
    before(async () => {
      sites = await startSites(redis)
    })
    after(() => sites?.stop())

    it(`has lost nothing and stored nothing twice after ${FAULTS} faults in a row`, async () => {
      const drawn = fc.sample(faultsOf(hostsWith(redis)), { numRuns: FAULTS, ...seeded() })
      const outcome = await underLoad(sites, async () => {
        for (const fault of drawn) {
          if (fault.kind === 'part') await partFor(sites, fault)()
          else {
            const mend =
              fault.kind === 'freeze'
                ? freeze({ pid: () => sites.pidOf(fault.host) })
                : sites.network.takeDown(fault.host)
            await pause(fault.ms)
            mend()
          }
          await sites.isWhole()
        }
      })
      const { seen } = outcome
      console.log(`${FAULTS} faults, ${redis}: ${describeOutcome(outcome)}`)
      assert.ok(seen.accepted.size > FAULTS)
      await assertNothingLost(askedOf(sites), seen, seen.refused + seen.unknown)
      assertWellAnswered(seen)
    })
  })
