import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { startPostgres } from '../cli/start/embedded/postgres-server.ts'
import { startRedis } from '../cli/start/embedded/redis-server.ts'
import { bypassProxies } from '../runtime/bypass-proxies.ts'
import { printHelp } from '../runtime/print-help.ts'
import { countTests, errorsBesideTests, type TestCounts } from './support/test-counts.ts'

type Runtime = {
  readonly name: string
  readonly environment?: Readonly<Record<string, string>>
  readonly command: (files: readonly string[], reportFile: string) => readonly string[]
}
type Run = { readonly runtime: Runtime; readonly files: readonly string[]; readonly reportFile: string }

const MINUTE_MS = 60_000
const LONG = process.env['TEST_SIZE'] === 'long'
const TEST_LIMIT_MS = LONG ? 120 * MINUTE_MS : 20 * MINUTE_MS
/** Deno has no limit for a single test, so this limit also ends a test that hangs. */
const RUN_LIMIT_MS = LONG ? 360 * MINUTE_MS : 120 * MINUTE_MS
const SEEDS_BELOW = 2 ** 31

const root = fileURLToPath(new URL('..', import.meta.url))

const BUN: Runtime = {
  name: 'Bun',
  command: (files, reportFile) => [
    process.execPath,
    'test',
    `--timeout=${TEST_LIMIT_MS}`,
    '--reporter=junit',
    `--reporter-outfile=${reportFile}`,
    // Without the dot, Bun takes the name as a pattern, which other files may match, too.
    ...files.map((file) => `./${file}`),
  ],
}

/**
 * The tests run on Bun, so that files share services. The API, workers and commands run on Deno.
 */
const SERVICE_ON_DENO: Runtime = { ...BUN, name: 'Bun, service on Deno', environment: { TEST_RUNTIME: 'deno' } }

const DENO: Runtime = {
  name: 'Deno',
  command: (files, reportFile) => [
    join(root, 'node_modules', '.bin', 'deno'),
    'test',
    '--allow-all',
    '--no-check',
    `--junit-path=${reportFile}`,
    ...files,
  ],
}

/** Each of these files takes long, and is a run of its own. */
const BY_THEMSELVES =
  /^test\/(?:faults|cluster|citus|network|browser|bench)\/|\/(?:client\/package|db\/convergence|db\/dearest|db\/plans|db\/purges\/purge|db\/several-servers)\.test/
/** These runs begin first. */
const LONGEST = /\/(?:matrix|failover|partitions|clocks|convergence)\.test/
const SERVICE_FILES = /^test\/end-to-end\//
/** These also run with the service on Bun: runtimes differ in HTTP, sockets and streams. */
const ON_BUN = /\/(?:broken-http|fuzz|tls|traces|wire)\.test/
const CLIENT_FILES = /^test\/client\//
/** Memory and trusted certificates depend on the runtime. Short runs try one runtime only. */
const ON_EACH = /\/(?:large-bodies|cluster\/tls)\.test/
/** Tests wait for processes: four runs keep two cores busy. A long run has the whole machine. */
const RUNS_AT_ONCE = LONG ? 1 : 4
const stopAsked = new AbortController()

const main = async (patterns: readonly string[]): Promise<number> => {
  const files = testFiles().filter(
    (file) => patterns.length === 0 || patterns.some((pattern) => file.includes(pattern)),
  )
  if (files.length === 0) {
    console.error(`No test file has ${patterns.join(' or ')} in its path.`)
    return 1
  }
  const directory = mkdtempSync(join(tmpdir(), 'feedback-insights-test-'))
  const servers = new AsyncDisposableStack()
  try {
    const env = await startServers(directory, servers)
    console.log(`FC_SEED=${env['FC_SEED']}`)
    return summarize(await runAll(runsOf(files, directory), env))
  } finally {
    await servers.disposeAsync()
    // Processes that a killed runner has left may still write for a moment.
    rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
}

const testFiles = (): string[] => {
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => `test/${file}`)
    .toSorted()
}

/** Starts the servers, in the same versions on every machine. Returns the tests' environment. */
const startServers = async (directory: string, servers: AsyncDisposableStack): Promise<NodeJS.ProcessEnv> => {
  const postgres = await startPostgres({ dataDir: join(directory, 'postgres'), log: console.log })
  servers.defer(postgres.stop)
  const redis = await startRedis({ dataDir: join(directory, 'redis'), log: console.log })
  servers.defer(redis.stop)
  return {
    ...process.env,
    NODE_ENV: 'test',
    // mkfs and ip are often outside of the path of ordinary users.
    PATH: `${process.env['PATH']}:/usr/sbin:/sbin`,
    // The files of a killed test are removed with the directory.
    TMPDIR: directory,
    TEST_DATABASE_URL: postgres.url,
    TEST_REDIS_URL: redis.url,
    FC_SEED: process.env['FC_SEED'] || String(randomInt(SEEDS_BELOW)),
  }
}

const runsOf = (files: readonly string[], directory: string): Run[] => {
  const alone = files.filter((file) => BY_THEMSELVES.test(file))
  const services = files.filter((file) => SERVICE_FILES.test(file))
  const rooms = files.filter((file) => !alone.includes(file) && !services.includes(file))
  return [
    ...alone.filter((file) => LONGEST.test(file)).map((file) => ({ runtime: BUN, files: [file] })),
    ...halvesOf(services).map((half) => ({ runtime: SERVICE_ON_DENO, files: half })),
    { runtime: BUN, files: LONG ? services : services.filter((file) => ON_BUN.test(file)) },
    { runtime: BUN, files: rooms },
    ...alone.filter((file) => !LONGEST.test(file)).map((file) => ({ runtime: BUN, files: [file] })),
    { runtime: DENO, files: rooms.filter((file) => CLIENT_FILES.test(file)) },
    ...alone.filter((file) => LONG && ON_EACH.test(file)).map((file) => ({ runtime: DENO, files: [file] })),
  ]
    .filter((run) => run.files.length > 0)
    .map((run, index) => ({ ...run, reportFile: join(directory, `${index}.xml`) }))
}

/** The files of each half share a service. */
const halvesOf = (files: readonly string[]): string[][] =>
  [0, 1].map((half) => files.filter((_, index) => index % 2 === half))

const runAll = async (runs: readonly Run[], env: NodeJS.ProcessEnv): Promise<TestCounts[]> => {
  const waiting = [...runs]
  const counts: TestCounts[] = []
  let isShowing = false
  const takeTurns = async (): Promise<void> => {
    for (let run = waiting.shift(); run && !stopAsked.signal.aborted; run = waiting.shift()) {
      // The outputs of parallel runs would mix. So one run is shown as it goes, and every other run
      // at its end.
      const isShown = !isShowing
      if (isShown) isShowing = true
      counts.push(await runOne(run, { env, isShown }))
      if (isShown) isShowing = false
    }
  }
  await Promise.all(Array.from({ length: RUNS_AT_ONCE }, takeTurns))
  return counts
}

const runOne = async (
  { runtime, files, reportFile }: Run,
  { env, isShown }: { env: NodeJS.ProcessEnv; isShown: boolean },
): Promise<TestCounts> => {
  const startedAt = performance.now()
  const title = `\n── ${runtime.name}: ${files.length === 1 ? files[0] : `${files.length} files`}`
  if (isShown) console.log(title)
  const { exitCode, output } = await runTool(runtime.command(files, reportFile), {
    env: { ...env, ...runtime.environment },
    isShown,
  })
  if (!isShown) console.log(`${title}\n${output}`)
  const counted = countTests(readReport(reportFile), files)
  const failed = [...errorsBesideTests(output), ...counted.failed]
  const isSilent = exitCode !== 0 && failed.length === 0
  const counts = isSilent
    ? { ...counted, failed: [`${runtime.name} ended with ${exitCode ?? 'a signal'}`] }
    : { ...counted, failed }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(
    `── ${runtime.name}: ${counts.passed} passed, ${counts.failed.length} failed, ${counts.skipped.length} skipped in ${seconds} s`,
  )
  return counts
}

type Ended = { exitCode: number | null; output: string }

const runTool = (
  [program = '', ...args]: readonly string[],
  { env, isShown }: { env: NodeJS.ProcessEnv; isShown: boolean },
): Promise<Ended> => {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    let output = ''
    const say = (text: string): void => {
      output += text
      if (isShown) process.stdout.write(text)
    }
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', say)
    const end = (): void => {
      // The processes that the runner has started are in its group.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      for (const stream of [child.stdout, child.stderr]) stream.destroy()
    }
    const limit = setTimeout(() => {
      say(`Not finished after ${RUN_LIMIT_MS / MINUTE_MS} minutes.\n`)
      end()
    }, RUN_LIMIT_MS)
    const finish = (exitCode: number | null): void => {
      clearTimeout(limit)
      stopAsked.signal.removeEventListener('abort', end)
      resolve({ exitCode, output })
    }
    stopAsked.signal.addEventListener('abort', end)
    child.once('error', (error) => {
      say(`${error.message}\n`)
      finish(null)
    })
    child.once('close', finish)
  })
}

const readReport = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    // A runner that was killed, or that could not load a file, leaves no report.
    return ''
  }
}

const summarize = (all: readonly TestCounts[]): number => {
  const passed = all.reduce((total, counts) => total + counts.passed, 0)
  const failed = all.flatMap((counts) => counts.failed)
  const skipped = all.flatMap((counts) => counts.skipped)
  if (stopAsked.signal.aborted) console.log('\nStopped before the end.')
  for (const text of skipped) console.log(`skipped  ${text}`)
  console.log(`\n${passed} passed, ${failed.length} failed, ${skipped.length} skipped`)
  for (const text of failed) console.log(`failed  ${text}`)
  return failed.length > 0 || passed + skipped.length === 0 || stopAsked.signal.aborted ? 1 : 0
}

printHelp(`usage: npm test -- [PART OF A PATH]…
Runs all tests, or the files whose path has one of the words, on servers of its own. npm run test:long is the same at full size.`)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopAsked.abort())
bypassProxies(process.env)
process.exit(await main(process.argv.slice(2)))
