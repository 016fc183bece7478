import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import process from 'node:process'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

export type Runtime = 'bun' | 'deno'

export type Program = {
  readonly pid: number
  /** The port that the program has reported, else 0. */
  readonly port: number
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stop: () => Promise<void>
}

const READY_WITHIN_MS = 60_000
const STOPPED_WITHIN_MS = 20_000
/** API and worker print such a line when they are ready. The other programs do the same. */
const READY = /^.*"event":"(?:listening|working)".*$/m

export const OWN_CHECKOUT = fileURLToPath(new URL('../..', import.meta.url))
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'LD_LIBRARY_PATH', 'DENO_DIR']

/**
 * Runs a program of a checkout of this repository, and returns when it is ready. Rejects if it does
 * not become ready.
 */
export const startProgram = async (options: {
  readonly file: string
  readonly environment: Readonly<Record<string, string>>
  readonly runtime?: Runtime
  readonly checkout?: string
}): Promise<Program> => {
  const { file, environment, runtime = 'bun', checkout = OWN_CHECKOUT } = options
  const [program, ...words] = commandOf(runtime)
  const child = spawn(program, [...words, file], { cwd: checkout, env: { ...inherited(), ...environment } })
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.removeListener('exit', kill))
  // A write fails if the program has ended, which is reported at its exit.
  child.stdin.on('error', () => {})
  const port = await untilReady(child, file).catch((error: unknown) => {
    kill()
    throw error
  })
  let isStopping = false
  child.once('exit', (code, signal) => {
    if (!isStopping) console.error(`${file} ended by itself with ${code ?? signal}.`)
  })
  return {
    pid: child.pid!,
    port,
    stdin: child.stdin,
    stdout: child.stdout,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      isStopping = true
      const ended = once(child, 'exit', { signal: AbortSignal.timeout(STOPPED_WITHIN_MS) })
      process.kill(child.pid!, 'SIGTERM')
      await ended.catch(kill)
    },
  }
}

const commandOf = (runtime: Runtime): [string, ...string[]] => {
  const installed = join(OWN_CHECKOUT, 'node_modules', '.bin', runtime)
  const program = process.versions[runtime] === undefined ? installed : process.execPath
  return runtime === 'deno' ? [program, 'run', '--allow-all', '--no-check'] : [program]
}

/** The environment of a program, without settings of the service on this machine. */
const inherited = (): Record<string, string> => {
  const given = INHERITED.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]))
  return { ...(Object.fromEntries(given) as Record<string, string>), NODE_ENV: 'production' }
}

const untilReady = (child: ReturnType<typeof spawn>, file: string): Promise<number> => {
  return new Promise((resolve, reject) => {
    let output = ''
    const fail = (why: string): void => {
      clearTimeout(late)
      reject(new Error(`${file} ${why}:\n${output}`))
    }
    const late = setTimeout(() => fail('was not ready in time'), READY_WITHIN_MS)
    const listen = (text: string): void => {
      output += text
      const line = READY.exec(output)?.[0]
      if (line?.endsWith('}') !== true) return
      clearTimeout(late)
      child.stdout?.off('data', listen)
      resolve((JSON.parse(line) as { port?: number }).port ?? 0)
    }
    child.stdout?.setEncoding('utf8').on('data', listen)
    // Keeps reading after the program is ready, so that the pipe does not fill.
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (output = `${output}${text}`.slice(-10_000)))
    child.once('error', (error) => fail(error.message))
    child.once('exit', (code) => fail(`ended with ${code}`))
  })
}
