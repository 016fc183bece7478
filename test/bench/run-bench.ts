import { Redis } from 'ioredis'
import type { EmbeddedServer } from '../../cli/start/embedded/server.ts'
import type { BenchConfig } from './bench-config.ts'
import type { Filling } from './installation/fill-queue.ts'
import type { Installation } from './installation/installation.ts'
import { startService } from './installation/service.ts'
import { startLoadGenerator } from './load/load-generator.ts'
import { until } from '../support/until.ts'
import { createMeasures, type Measures } from './figures/measures.ts'
import { type CreateSection, feedbackFilling, type InstallationName, type Rig } from './rig.ts'

/**
 * In the order in which each round takes them. Purges come last: they are what removes something of what is stored. A
 * section is loaded when it is run: half of them know rooms of the service from inside, and the others shall measure a
 * version whose rooms are other ones.
 */
export const SECTIONS = {
  ingress: async () => (await import('./sections/ingress.ts')).ingress,
  drain: async () => (await import('./sections/drain.ts')).drain,
  size: async () => (await import('./sections/size.ts')).size,
  backlog: async () => (await import('./sections/backlog.ts')).backlog,
  grown: async () => (await import('./sections/grown.ts')).grown,
  deno: async () => (await import('./sections/deno.ts')).deno,
  'end-to-end': async () => (await import('./sections/end-to-end.ts')).endToEnd,
  workspaces: async () => (await import('./sections/workspaces.ts')).workspaces,
  parts: async () => (await import('./sections/parts.ts')).findParts,
  'contact-parts': async () => (await import('./sections/parts.ts')).findContactParts,
  'conversation-parts': async () => (await import('./sections/parts.ts')).findConversationParts,
  'workspace-parts': async () => (await import('./sections/parts.ts')).findWorkspaceParts,
  memory: async () => (await import('./sections/memory.ts')).memory,
  alike: async () => (await import('./sections/alike.ts')).alike,
  lone: async () => (await import('./sections/lone.ts')).lone,
  keys: async () => (await import('./sections/keys.ts')).keys,
  replicas: async () => (await import('./sections/replicas.ts')).replicas,
  purge: async () => (await import('./sections/purge.ts')).purge,
} as const satisfies Record<string, () => Promise<CreateSection>>
const REPLICA_MEMORY_BYTES = 512 * 1024 ** 2

export type SectionName = keyof typeof SECTIONS

/** They take minutes of their own, and run when they are named. */
export const ONLY_WHEN_NAMED: ReadonlySet<string> = new Set<SectionName>([
  'grown',
  'workspaces',
  'parts',
  'contact-parts',
  'conversation-parts',
  'workspace-parts',
  'alike',
  'lone',
  'keys',
  'replicas',
])

export type Servers = {
  readonly postgres: EmbeddedServer
  readonly redis: EmbeddedServer
  /** Another one, which whoever started the first ones ends. */
  readonly startRedis: (name: string, maxMemoryBytes: number) => Promise<EmbeddedServer>
}

/** Takes the figures of the given sections, round by round, so that whatever disturbs the machine disturbs all alike. */
export const runBench = async (
  servers: Servers,
  { config, sections, say }: { config: BenchConfig; sections: readonly SectionName[]; say: (line: string) => void },
): Promise<{ measures: Measures; reports: string[] }> => {
  await using running = new AsyncDisposableStack()
  const rig = await startRig({ servers, config, running, say })
  const prepared = []
  for (const name of sections) {
    say(`preparing ${name}`)
    const create = await SECTIONS[name]()
    prepared.push({ name, section: await create(rig) })
  }
  for (let round = 1; round <= config.rounds; round++) {
    for (const { name, section } of prepared) {
      say(`round ${round} of ${config.rounds}: ${name}`)
      await section.round()
    }
  }
  return { measures: rig.measures, reports: prepared.flatMap(({ section }) => section.report?.() ?? []) }
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
  const plain = once(async () => {
    const { startPlainVariants } = await import('./plain/plain-variants.ts')
    return keep(await startPlainVariants(urls))
  })
  let nextNumber = 0
  const keep = <Started extends { stop: () => Promise<void> }>(it: Started): Started => {
    running.defer(it.stop)
    return it
  }
  const takeNumbers = (count: number): number => {
    const first = nextNumber
    nextNumber += count
    return first
  }
  return {
    config,
    measures: createMeasures(say),
    load,
    plain: () => plain('plain'),
    urls,
    warm: new Set(),
    serverPids: { Redis: servers.redis.pid, Postgres: servers.postgres.pid },
    installation: once(async (name, runtime = 'bun') => {
      const { startInstallation } = await import('./installation/installation.ts')
      const installation = keep(await startInstallation(urls, { name, runtime }))
      await prepare(installation, { name, config, takeNumbers })
      return installation
    }),
    service: once(async (name, redisMemoryBytes, replicasAck = 0) => {
      const own = redisMemoryBytes === undefined ? undefined : await servers.startRedis(name, redisMemoryBytes)
      return keep(await startService({ ...urls, ...(own && { redisUrl: own.url }) }, { name, replicasAck }))
    }),
    startReplica: async ({ prefix, redis }) => {
      const { url } = await servers.startRedis(`${prefix}-replica`, REPLICA_MEMORY_BYTES)
      const replica = new Redis(url)
      await replica.config('SET', 'masterauth', redis.options.password!)
      await replica.replicaof(redis.options.host!, redis.options.port!)
      await until('the replica follows', async () => (await redis.info('replication')).includes('state=online'))
      replica.disconnect()
    },
    takeNumbers,
    say,
  }
}

/** Does it when it is first asked for, for each name. */
const once = <Name, Rest extends readonly unknown[], Made>(
  make: (name: Name, ...rest: Rest) => Promise<Made>,
): ((name: Name, ...rest: Rest) => Promise<Made>) => {
  const made = new Map<Name, Promise<Made>>()
  return (name, ...rest) => {
    const known = made.get(name) ?? make(name, ...rest)
    made.set(name, known)
    return known
  }
}

/** With its queue of feedback paused, a worker that is warm, and what is to be stored beforehand. */
const prepare = async (
  installation: Installation,
  { name, config, takeNumbers }: Pick<Rig, 'config' | 'takeNumbers'> & { name: InstallationName },
): Promise<void> => {
  const { halt } = await import('./installation/drain.ts')
  await halt(installation.drained('submissions').queues)
  await warmUp(installation, feedbackFilling({ config, takeNumbers }, config.drained))
  if (name === 'stored') await fillStored(installation, config)
}

/** A worker that was just started takes twice the processor time for a submission that one takes which has been at it. */
const warmUp = async (installation: Installation, filling: Filling): Promise<void> => {
  const { fillQueue } = await import('./installation/fill-queue.ts')
  const { drainFor } = await import('./installation/drain.ts')
  await fillQueue(installation, 'create_feedback', filling)
  await drainFor(installation.drained('submissions'), { jobs: filling.count, mostSeconds: Infinity })
  await installation.empty()
}

const fillStored = async (installation: Installation, config: BenchConfig): Promise<void> => {
  const { fillTables } = await import('./installation/fill-tables.ts')
  await fillTables(installation, {
    feedback: config.storedFeedback,
    contacts: config.storedContacts,
    heavy: { contacts: config.rounds, feedback: config.purgedFeedback },
  })
}
