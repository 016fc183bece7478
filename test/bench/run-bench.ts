import type { EmbeddedServer } from '../../cli/start/embedded/server.ts'
import type { BenchConfig } from './bench-config.ts'
import { drainFor } from './installation/drain.ts'
import { type Filling, fillQueue } from './installation/fill-queue.ts'
import { fillTables } from './installation/fill-tables.ts'
import { type Installation, startInstallation } from './installation/installation.ts'
import { startLoadGenerator } from './load/load-generator.ts'
import { createMeasures, type Measures } from './figures/measures.ts'
import { startPlainVariants } from './plain/plain-variants.ts'
import { type CreateSection, feedbackFilling, type InstallationName, type Rig } from './rig.ts'
import { backlog } from './sections/backlog.ts'
import { deno } from './sections/deno.ts'
import { drain } from './sections/drain.ts'
import { endToEnd } from './sections/end-to-end.ts'
import { ingress } from './sections/ingress.ts'
import { purge } from './sections/purge.ts'
import { size } from './sections/size.ts'

/** In the order in which each round takes them. Purges come last: they are what removes something of what is stored. */
export const SECTIONS = { ingress, drain, size, backlog, deno, 'end-to-end': endToEnd, purge } as const
export type SectionName = keyof typeof SECTIONS

export type Servers = { readonly postgres: EmbeddedServer; readonly redis: EmbeddedServer }

/** Takes the figures of the given sections, round by round, so that whatever disturbs the machine disturbs all alike. */
export const runBench = async (
  servers: Servers,
  { config, sections, say }: { config: BenchConfig; sections: readonly SectionName[]; say: (line: string) => void },
): Promise<Measures> => {
  await using running = new AsyncDisposableStack()
  const rig = await startRig({ servers, config, running, say })
  const prepared = []
  for (const name of sections) {
    say(`preparing ${name}`)
    const create: CreateSection = SECTIONS[name]
    prepared.push({ name, section: await create(rig) })
  }
  for (let round = 1; round <= config.rounds; round++) {
    for (const { name, section } of prepared) {
      say(`round ${round} of ${config.rounds}: ${name}`)
      await section.round()
    }
  }
  return rig.measures
}

const startRig = async (options: {
  servers: Servers
  config: BenchConfig
  running: AsyncDisposableStack
  say: (line: string) => void
}): Promise<Rig> => {
  const { servers, config, running, say } = options
  const urls = { databaseUrl: servers.postgres.url, redisUrl: servers.redis.url }
  const load = await startLoadGenerator()
  running.defer(load.stop)
  const plain = await startPlainVariants(urls)
  running.defer(plain.stop)
  const started = new Map<InstallationName, Installation>()
  let nextNumber = 0
  const takeNumbers = (count: number): number => {
    const first = nextNumber
    nextNumber += count
    return first
  }
  return {
    config,
    measures: createMeasures(say),
    load,
    plain,
    serverPids: { Redis: servers.redis.pid, Postgres: servers.postgres.pid },
    installation: async (name, runtime = 'bun') => {
      const known = started.get(name)
      if (known) return known
      const installation = await startInstallation(urls, { name, runtime })
      running.defer(installation.stop)
      started.set(name, installation)
      await installation.queues.feedback.pause()
      await warmUp(installation, feedbackFilling({ config, takeNumbers }, config.drained))
      if (name === 'stored') await fillStored(installation, config)
      return installation
    },
    takeNumbers,
  }
}

/** A worker that was just started takes twice the processor time for a submission that one takes which has been at it. */
const warmUp = async (installation: Installation, filling: Filling): Promise<void> => {
  await fillQueue(installation, 'create_feedback', filling)
  await drainFor(installation.queues.feedback, { jobs: filling.count, mostSeconds: Infinity })
  await installation.empty()
}

const fillStored = (installation: Installation, config: BenchConfig): Promise<void> =>
  fillTables(installation, {
    feedback: config.storedFeedback,
    contacts: config.storedContacts,
    heavy: { contacts: config.rounds, feedback: config.purgedFeedback },
  })
