import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { startRedis } from '../../cli/start/embedded/redis-server.ts'
import { printHelp } from '../../process/print-help.ts'
import { readLedgers } from '../support/ledgers.ts'
import { whyNoNetwork } from '../support/network.ts'
import { askedOf, describeOutcome, partFor, PARTITIONS, underLoad } from '../support/partitions.ts'
import { damage } from '../support/recovery.ts'
import { PURGED, restoreUnderLoad } from '../support/restoration.ts'
import { type Sites, startSites } from '../support/sites.ts'
import { findTraces } from '../support/traces.ts'

const SECONDS = 5
/** About as long as somebody takes who promotes by hand what others watch. */
const PROMOTED_AFTER_MS = 3_000

type Strike = (sites: Sites) => Promise<void>

const ON_SITES: Readonly<Record<string, Readonly<Record<string, Strike>>>> = {
  partition: Object.fromEntries(
    Object.keys(PARTITIONS).map((name) => [
      `The network parts ${name} for ${SECONDS} s.`,
      (sites: Sites) => partFor(sites, { name, ms: SECONDS * 1_000, isFlapping: false })(),
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
  console.error(`There is no rehearsal ${kind}: ${Object.keys(ON_SITES).join(', ')}, restore`)
  return 1
}

const rehearseRestore = async (): Promise<number> => {
  using directory = temporary()
  const redis = await startRedis({ dataDir: join(directory.path, 'redis') })
  try {
    console.log('Submitting, taking a base backup, submitting on, purging, and restoring to a moment in between …')
    const restored = await restoreUnderLoad(redis.url)
    try {
      const { service, before, after, restoredMs, goesOnMs } = restored
      const { lost, doubled } = await damage(service.sql, before)
      const traces = await findTraces({ ...service, output: restored.output }, PURGED)
      console.log(
        `  of ${before.accepted.size} confirmed before that moment ${lost} lost, ${doubled} doubled; ` +
          `${after.accepted.size} confirmed after it are gone, as npm run doctor tells; ${traces.length} traces of whom a purge removed`,
      )
      console.log(`  restored in ${Math.round(restoredMs)} ms, goes on after ${Math.round(goesOnMs)} ms`)
      return lost + doubled + traces.length === 0 ? 0 : 1
    } finally {
      await restored.stop()
    }
  } finally {
    await redis.stop()
  }
}

const temporary = () => {
  const path = mkdtempSync(join(tmpdir(), 'feedback-insights-rehearsal-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

const rehearseOnSites = async (rehearsals: Readonly<Record<string, Strike>>): Promise<number> => {
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

printHelp(`usage: npm run rehearse -- failover|partition|restore
Lets things go wrong on servers of its own, under load, and prints what was confirmed, what was lost and how long it took.
failover and partition do it on seven hosts, which needs root on Linux. It touches no installation.`)
// What it has started ends with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))
process.exit(await rehearse(process.argv[2] ?? ''))
