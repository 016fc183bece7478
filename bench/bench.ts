import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { startPostgres } from '../cli/start/embedded/postgres-server.ts'
import { startRedis } from '../cli/start/embedded/redis-server.ts'
import { bypassProxies } from '../runtime/bypass-proxies.ts'
import { printHelp } from '../runtime/print-help.ts'
import { grantCheckpoint } from '../test/support/superuser.ts'
import { readBenchConfig } from './bench-config.ts'
import { judgeLines } from './figures/lines.ts'
import { describeKinds, describeLines, describeProcessorTime } from './figures/report.ts'
import { ONLY_WHEN_NAMED, runBench, SECTIONS, type SectionName, type Servers } from './run-bench.ts'

/** Enough for a backlog of a million: the service refuses submissions when Redis is nearly full. */
const REDIS_MEMORY_BYTES = 6 * 1024 ** 3
const say = (line: string): void => console.error(line)
const startedAt = new Date()
const running = new AsyncDisposableStack()

/** Runs the named sections. Without names, runs all sections except those of ONLY_WHEN_NAMED. */
const main = async (words: readonly string[]): Promise<number> => {
  const unknown = words.filter((word) => !Object.hasOwn(SECTIONS, word))
  if (unknown.length > 0) {
    say(`There is no section ${unknown.join(' or ')}. The sections are: ${Object.keys(SECTIONS).join(', ')}`)
    return 1
  }
  const config = readBenchConfig(process.env)
  const sections = (Object.keys(SECTIONS) as SectionName[]).filter((name) =>
    words.length === 0 ? !ONLY_WHEN_NAMED.has(name) : words.includes(name),
  )
  try {
    const measures = await runBench(await startServers(), { config, sections, say })
    const lines = judgeLines(config, measures)
    const tookSeconds = Math.round((Date.now() - startedAt.getTime()) / 1_000)
    const machine = { platform: process.platform, processors: cpus().length, model: cpus()[0]?.model ?? '' }
    const results = { startedAt, tookSeconds, machine, config, lines, measures: measures.summaries() }
    writeFileSync(config.output, `${JSON.stringify(results, undefined, 2)}\n`)
    const texts = [describeLines(config, lines), describeProcessorTime(measures), describeKinds(measures)]
    console.log(['', ...texts.filter((text) => text !== '')].join('\n\n'))
    console.log(`Took ${tookSeconds} s on ${machine.processors} processors. All figures are in ${config.output}.`)
  } finally {
    await running.disposeAsync()
  }
  return 0
}

const startServers = async (): Promise<Servers> => {
  const directory = mkdtempSync(join(tmpdir(), 'feedback-insights-bench-'))
  running.defer(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
  const dataDir = join(directory, 'postgres')
  const postgres = await startPostgres({ dataDir, log: say })
  running.defer(postgres.stop)
  await grantCheckpoint(dataDir, postgres.url)
  const startOne: Servers['startRedis'] = async (name, maxMemoryBytes) => {
    const server = await startRedis({ dataDir: join(directory, name), maxMemoryBytes, log: say })
    running.defer(server.stop)
    return server
  }
  return { postgres, redis: await startOne('redis', REDIS_MEMORY_BYTES), startRedis: startOne }
}

printHelp(`usage: npm run bench -- [SECTION]…
Compares this service with simpler programs that do part of its work. It starts its own servers.
Sections: ${Object.keys(SECTIONS).join(', ')}.
The sections ${[...ONLY_WHEN_NAMED].join(', ')} run only when they are named.
docs/benchmark.md has its environment variables.`)
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void running.disposeAsync().finally(() => process.exit(130)))
}
bypassProxies(process.env)
process.exit(await main(process.argv.slice(2)))
