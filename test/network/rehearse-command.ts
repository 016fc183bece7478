import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { printHelp } from '../../runtime/print-help.ts'
import { readLedger } from '../support/ledgers.ts'
import { damage, untilMoreAccepted, recovery, startLoad } from '../support/load.ts'
import { whyNoNetwork } from '../support/network.ts'
import { partFor, PARTITIONS, type Sites, startSites } from '../support/sites.ts'
import { makeDisaster, PURGED, storedIds } from '../support/restoration.ts'
import { findTraces } from '../support/traces.ts'

const PARTED_SECONDS = 5
const PROMOTED_AFTER_MS = 3_000

type Strike = (sites: Sites) => Promise<void>

const ON_SITES: Readonly<Record<string, Readonly<Record<string, Strike>>>> = {
  partition: Object.fromEntries(
    Object.keys(PARTITIONS).map((name) => [
      `The network parts ${name} for ${PARTED_SECONDS} s.`,
      (sites: Sites) => partFor(sites, { name, ms: PARTED_SECONDS * 1_000, isFlapping: false }),
    ]),
  ),
  failover: {
    'The host of the master of Redis is gone for ten seconds; the sentinels agree on a replica.': async (sites) => {
      const bringUp = sites.network.takeDown((await sites.roles()).master)
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
  const rehearsals = ON_SITES[kind]
  if (rehearsals !== undefined) return rehearseOnSites(rehearsals)
  if (kind === 'restore') return rehearseRestore()
  console.error(`Name one of the rehearsals: ${Object.keys(ON_SITES).join(', ')}, restore`)
  return 1
}

const rehearseRestore = async (): Promise<number> => {
  console.log('Submitting, taking a base backup, submitting more, purging, and restoring to a moment in between …')
  const disaster = await makeDisaster()
  const startedAt = performance.now()
  const elapsedMs = (): number => Math.round(performance.now() - startedAt)
  try {
    const { service, stored, confirmed, run, purgesFile } = disaster
    await disaster.restore()
    const restoredMs = elapsedMs()
    await run('cli/migrate-command.ts')
    await run('cli/purge/replay-command.ts', purgesFile)
    const served = await disaster.serve()
    try {
      const load = startLoad(served)
      await untilMoreAccepted(load)
      await load.stop()
      await recovery(served, load.seen)
      const goesOnMs = elapsedMs()
      const held = await storedIds(service)
      const lost = stored.before.difference(held).size
      const { doubled } = await damage(service, load.seen.accepted)
      const traces = await findTraces(served, Object.values(PURGED))
      console.log(
        `  of ${stored.before.size} stored before that moment ${lost} lost, ${doubled} doubled; of ${confirmed.size} confirmed in all ` +
          `${confirmed.difference(held).size} are lost, as npm run doctor reports; ${traces.length} traces of purged contacts`,
      )
      console.log(`  restored in ${restoredMs} ms, continues after ${goesOnMs} ms`)
      return lost + doubled + traces.length === 0 ? 0 : 1
    } finally {
      await served.end()
    }
  } finally {
    await disaster.stop()
  }
}

const rehearseOnSites = async (rehearsals: Readonly<Record<string, Strike>>): Promise<number> => {
  const why = whyNoNetwork()
  if (why !== undefined) {
    console.error(`This rehearsal cannot run here: ${why}.`)
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
      damaged += await strikeUnderLoad(sites, strike)
    }
    const { accepted, applied, difference } = await readLedger(sites.service)
    console.log(`The ledger: ${accepted} accepted, ${applied} applied, ${difference} missing.`)
  } finally {
    await sites.stop()
  }
  return damaged === 0 ? 0 : 1
}

/**
 * Clients submit before, during and after a fault. Returns the number of lost and doubled submissions.
 */
const strikeUnderLoad = async (sites: Sites, strike: Strike): Promise<number> => {
  const { service } = sites
  const load = startLoad(service)
  try {
    await untilMoreAccepted(load)
    await strike(sites)
    const mendedAt = performance.now()
    await untilMoreAccepted(load)
    const acceptsMs = performance.now() - mendedAt
    await load.stop()
    const appliedMs = await recovery(service, load.seen, mendedAt)
    await sites.untilWhole()
    const { accepted, refused, unknown, slowestMs } = load.seen
    const { lost, doubled } = await damage(service, accepted)
    console.log(
      `  ${lost} lost, ${doubled} doubled; ${accepted.size} confirmed, ${refused} refused, ${unknown} unknown, ` +
        `slowest ${Math.round(slowestMs)} ms; accepts after ${Math.round(acceptsMs)} ms, all applied after ${Math.round(appliedMs)} ms`,
    )
    return lost + doubled
  } finally {
    await load.stop()
  }
}

printHelp(`usage: npm run rehearse -- failover|partition|restore
Strikes servers of its own under load, and prints what was confirmed, what was lost and how long the recovery took.
failover and partition use seven hosts, which needs root on Linux. No rehearsal touches an installation.`)
// The servers of a rehearsal end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))
process.exit(await rehearse(process.argv[2] ?? ''))
