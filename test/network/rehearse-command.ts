import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { printHelp } from '../../process/print-help.ts'
import { readLedgers } from '../support/ledgers.ts'
import { whyNoNetwork } from '../support/network.ts'
import { askedOf, describeOutcome, partFor, PARTITIONS, underLoad } from '../support/partitions.ts'
import { damage } from '../support/recovery.ts'
import { type Sites, startSites } from '../support/sites.ts'

const SECONDS = 5
/** About as long as somebody takes who promotes by hand what others watch. */
const PROMOTED_AFTER_MS = 3_000

type Strike = (sites: Sites) => Promise<void>

const REHEARSALS: Readonly<Record<string, Readonly<Record<string, Strike>>>> = {
  partition: Object.fromEntries(
    Object.keys(PARTITIONS).map((name) => [
      `The network parts ${name} for ${SECONDS} s.`,
      (sites: Sites) => partFor(sites, { name, ms: SECONDS * 1_000, isFlapping: false })(),
    ]),
  ),
  failover: {
    'The host of the master of Redis is gone for ten seconds; the sentinels agree on a replica.': async (sites) => {
      const bringUp = sites.network.takeDown(await sites.master())
      await pause(10_000)
      bringUp()
    },
    'The host of the primary of Postgres is gone; its synchronous standby is promoted three seconds later.': async (
      sites,
    ) => {
      sites.network.takeDown('postgres1')
      await pause(PROMOTED_AFTER_MS)
      await sites.promote()
    },
  },
}

const rehearse = async (kind: string): Promise<number> => {
  const rehearsals = REHEARSALS[kind]
  if (rehearsals === undefined) {
    console.error(`There is no rehearsal ${kind}: ${Object.keys(REHEARSALS).join(', ')}`)
    return 1
  }
  const why = whyNoNetwork()
  if (why !== undefined) {
    console.error(`Nothing can be rehearsed here: ${why}.`)
    return 1
  }
  console.log(
    'Starting seven hosts: API, worker, Redis with two replicas and three sentinels, Postgres with a standby …',
  )
  const sites = await startSites()
  let damaged = 0
  try {
    for (const [title, strike] of Object.entries(rehearsals)) {
      console.log(title)
      const outcome = await underLoad(sites, () => strike(sites))
      const { lost, doubled } = await damage(sites.service.sql, outcome.seen)
      damaged += lost + doubled
      console.log(`  ${lost} lost, ${doubled} doubled; ${describeOutcome(outcome)}`)
    }
    const { sql, redis, prefix } = askedOf(sites)
    const [ledger] = await readLedgers(sql, redis, prefix)
    console.log(`The ledger: ${ledger!.accepted} accepted, ${ledger!.applied} applied, ${ledger!.difference} missing.`)
  } finally {
    await sites.stop()
  }
  return damaged === 0 ? 0 : 1
}

printHelp(`usage: npm run rehearse -- failover|partition
Lets things go wrong on seven hosts of its own, under load, and prints what was confirmed, what was lost and how long it took.
It needs root on Linux, and touches no installation.`)
process.exit(await rehearse(process.argv[2] ?? ''))
