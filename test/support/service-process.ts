import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { GUARD_MS } from './until.ts'

export type ServiceProcess = {
  readonly pid: number
  readonly port: number
  /** All its output on stdout and stderr. */
  readonly output: () => string
  /** Ends the process by SIGTERM. Rejects if it does not exit with code 0. */
  readonly stop: () => Promise<void>
  /** Kills the process, and waits for its end. */
  readonly kill: () => Promise<void>
}

const root = fileURLToPath(new URL('../..', import.meta.url))

const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'LD_LIBRARY_PATH', 'DENO_DIR']

/** The variables of this process that programs need. None is of npm or a setting of the service. */
export const bareEnvironment: Readonly<Record<string, string>> = Object.fromEntries(
  INHERITED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
)

/**
 * A program of the project. `via`: the first words of the command line, which run the program on a
 * host of a test's network.
 */
export type Program = string | { readonly file: string; readonly via: readonly string[] }

/** Runs the program on the runtime of the service. */
export const spawnProgram = (program: Program, words: readonly string[], environment: Record<string, string>) => {
  const via = typeof program === 'string' ? [] : program.via
  const [command, ...args] = [...via, ...SERVICE_COMMAND, fileOf(program), ...words]
  const child = spawn(command!, args, {
    cwd: root,
    env: { ...bareEnvironment, NODE_ENV: 'production', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  killAtExit(child)
  return child
}

/** Kills a child when this process exits. */
export const killAtExit = (child: ChildProcess): void => {
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.removeListener('exit', kill))
}

const fileOf = (program: Program): string => (typeof program === 'string' ? program : program.file)

/** Starts a program, and waits until it logs `event` with its port. */
export const startProcess = async (
  program: Program,
  event: string,
  environment: Record<string, string>,
): Promise<ServiceProcess> => {
  const child = spawnProgram(program, [], environment)
  let output = ''
  const port = await new Promise<number>((resolve, reject) => {
    const fail = (why: string): void => reject(new Error(`${fileOf(program)} ${why}:\n${output}`))
    const late = setTimeout(() => fail('was not ready in time'), GUARD_MS)
    const listen = (text: string): void => {
      output += text
      const found = readyPort(output, event)
      if (found === undefined) return
      clearTimeout(late)
      resolve(found)
    }
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', listen)
    child.once('error', (error) => fail(error.message))
    child.once('exit', (code) => {
      clearTimeout(late)
      fail(`ended with ${code}`)
    })
  }).catch((error: unknown) => {
    child.kill('SIGKILL')
    throw error
  })

  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit', { signal: AbortSignal.timeout(GUARD_MS) })
      // Not child.kill, after which Deno reports the signal instead of the exit code.
      process.kill(child.pid!, 'SIGTERM')
      await ended.catch(() => child.kill('SIGKILL'))
    }
    assert.equal(child.exitCode, 0, `${fileOf(program)} did not end cleanly (${child.signalCode}):\n${output}`)
  }
  const kill = async (): Promise<void> => {
    const ended = once(child, 'exit', { signal: AbortSignal.timeout(GUARD_MS) })
    process.kill(child.pid!, 'SIGKILL')
    await ended
  }
  return { pid: child.pid!, port, output: () => output, stop, kill }
}

const readyPort = (output: string, event: string): number | undefined => {
  const line = output.split('\n').find((candidate) => candidate.includes(`"event":"${event}"`))
  // The last line may be incomplete.
  return line?.endsWith('}') ? (JSON.parse(line) as { port: number }).port : undefined
}

/** Variables that name a proxy that does not answer. */
export const DEAD_PROXY: Readonly<Record<string, string>> = Object.fromEntries(
  ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY'].map((name) => [name, 'http://127.0.0.1:9']),
)

/**
 * The runtime of a service's processes: Bun, or Deno if `npm test` sets TEST_RUNTIME or runs the
 * tests on it.
 */
export const SERVICE_RUNTIME =
  process.env['TEST_RUNTIME'] === 'deno' || process.versions['deno'] !== undefined ? 'deno' : 'bun'

/** The words of a command line before a program of the service. */
export const SERVICE_COMMAND: readonly [string, ...string[]] =
  SERVICE_RUNTIME === 'bun'
    ? [process.execPath]
    : [join(root, 'node_modules', '.bin', 'deno'), 'run', '--allow-all', '--no-check']
