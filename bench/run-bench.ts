import { Redis } from 'ioredis'
import type { EmbeddedServer } from '../cli/start/embedded/server.ts'
import type { BenchConfig } from './bench-config.ts'
import { startService } from './installation/service.ts'
import { startLoadGenerator } from './load/load-generator.ts'
import { until } from '../test/support/until.ts'
import { createMeasures, type Measures } from './figures/measures.ts'
import type { PlainVariants } from './plain/plain-variants.ts'
import type { CreateSection, Rig } from './rig.ts'

/** The sections in their order within a round. */
export const SECTIONS = {
  ingress: async () => (await import('./sections/ingress.ts')).ingress,
  'end-to-end': async () => (await import('./sections/end-to-end.ts')).endToEnd,
  size: async () => (await import('./sections/size.ts')).size,
  backlog: async () => (await import('./sections/backlog.ts')).backlog,
  deno: async () => (await import('./sections/deno.ts')).deno,
  workspaces: async () => (await import('./sections/workspaces.ts')).workspaces,
  parts: async () => (await import('./sections/parts.ts')).parts,
  memory: async () => (await import('./sections/memory.ts')).memory,
  curve: async () => (await import('./sections/curve.ts')).curve,
  lone: async () => (await import('./sections/lone.ts')).lone,
  reads: async () => (await import('./sections/reads.ts')).reads,
  heavy: async () => (await import('./sections/heavy.ts')).heavy,
  snapshot: async () => (await import('./sections/snapshot.ts')).snapshot,
  idle: async () => (await import('./sections/idle.ts')).idle,
  replicas: async () => (await import('./sections/replicas.ts')).replicas,
  purge: async () => (await import('./sections/purge.ts')).purge,
} as const satisfies Record<string, () => Promise<CreateSection>>
export type SectionName = keyof typeof SECTIONS

/** These sections take minutes, and run only when they are named. */
export const ONLY_WHEN_NAMED: ReadonlySet<string> = new Set<SectionName>([
  'workspaces',
  'parts',
  'curve',
  'lone',
  'idle',
  'reads',
  'heavy',
  'snapshot',
  'replicas',
])

export type Servers = {
  readonly postgres: EmbeddedServer
  readonly redis: EmbeddedServer
  /** Starts another Redis, which ends together with the first servers. */
  readonly startRedis: (name: string, maxMemoryBytes: number) => Promise<EmbeddedServer>
}

const REPLICA_MEMORY_BYTES = 512 * 1024 ** 2

/**
 * Measures the given sections in turn, round by round, so that a slow phase of the machine affects
 * several sections, and not all rounds of one.
 */
export const runBench = async (
  servers: Servers,
  { config, sections, say }: { config: BenchConfig; sections: readonly SectionName[]; say: (line: string) => void },
): Promise<Measures> => {
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
  const keep = <Started extends { stop: () => Promise<void> }>(started: Started): Started => {
    running.defer(started.stop)
    return started
  }
  const load = keep(await startLoadGenerator())
  let plain: Promise<PlainVariants> | undefined
  const startPlain = async (): Promise<PlainVariants> => {
    const { startPlainVariants } = await import('./plain/plain-variants.ts')
    return keep(await startPlainVariants(urls))
  }
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
    plain: () => (plain ??= startPlain()),
    warm: new Set(),
    accepted: new Map(),
    serverPids: { Redis: servers.redis.pid, Postgres: servers.postgres.pid },
    service: once(async (name, { redisMemoryBytes, ...needs } = {}) => {
      const own = redisMemoryBytes === undefined ? undefined : await servers.startRedis(name, redisMemoryBytes)
      return keep(await startService({ ...urls, ...(own && { redisUrl: own.url }) }, { name, ...needs }))
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

/** Makes a value at the first call for a name, and returns it to later calls for that name. */
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
