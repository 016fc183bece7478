import { spawn, type SpawnOptionsWithoutStdio, spawnSync, type StdioOptions } from 'node:child_process'
import { rmSync } from 'node:fs'
import process from 'node:process'
import type { Readable } from 'node:stream'
import { endProcess, readPidFile, type StopStep, writePidFile } from './pid-file.ts'

export type StartedProcess = {
  readonly pid: number
  /** How the process has ended, such as `ended with 1`. */
  readonly exited: Promise<string>
  readonly hasExited: () => boolean
  /** Ends the process, by force if it does not obey. May be called again. */
  readonly stop: () => Promise<void>
}

type StartOptions = {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd?: string | undefined
  readonly spawnAs?: { readonly uid: number; readonly gid: number } | undefined
  readonly stdio: StdioOptions
  /** Reads the output if `stdio` has pipes. */
  readonly take?: (output: Readable) => void
  /**
   * This file has the id of the process while the process runs. If this program is killed, the next
   * start ends the process.
   */
  readonly pidFile: string
  readonly stopSteps: readonly StopStep[]
}

/**
 * Starts a process in its own session, where Ctrl-C does not reach the process. So this program can
 * stop its processes in order.
 *
 * @throws when the program cannot be run
 */
export const startProcess = async (
  [program = '', ...args]: readonly string[],
  { env, cwd, spawnAs, stdio, take, pidFile, stopSteps }: StartOptions,
): Promise<StartedProcess> => {
  const child = spawn(program, args, { env, cwd, stdio, detached: true, ...spawnAs })
  for (const output of [child.stdout, child.stderr]) if (output) take?.(output)
  let hasExited = false
  const exited = new Promise<string>((resolve) => {
    // At `close` all output has been read; at `exit` some may be missing.
    child.once('close', (code, signal) => {
      hasExited = true
      // The next process may have written its id already.
      if (readPidFile(pidFile)?.pid === child.pid) rmSync(pidFile, { force: true })
      resolve(`ended with ${code ?? signal}`)
    })
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (cause) => reject(new Error(`cannot run ${program}`, { cause })))
  })
  const pid = child.pid
  if (pid === undefined) throw new Error(`cannot run ${program}`)
  try {
    writePidFile(pidFile, pid)
  } catch (error) {
    // On a full disk. Without the file, no later start would end the process.
    child.kill('SIGKILL')
    throw error
  }
  return {
    pid,
    exited,
    hasExited: () => hasExited,
    stop: async () => {
      if (!hasExited) await endProcess(pid, exited, stopSteps)
    },
  }
}

/**
 * Runs a program to its end. `how`: the exit code, or the signal that ended the program.
 *
 * @throws when the program cannot be run
 */
export const runToEnd = async (
  [program = '', ...args]: readonly string[],
  options: SpawnOptionsWithoutStdio,
  input = '',
): Promise<{ readonly how: number | string | null; readonly output: string }> => {
  const child = spawn(program, args, options)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  // A program that ends before it has read its input breaks the pipe. Its output tells why.
  child.stdin.on('error', () => {}).end(input)
  const how = await new Promise<number | string | null>((resolve, reject) => {
    child.once('error', (cause) => reject(new Error(`cannot run ${program}`, { cause })))
    child.once('close', (code, signal) => resolve(code ?? signal))
  })
  return { how, output }
}

let isSupported: boolean | undefined

/**
 * Words to put before a command, so that its process gets `signal` when this program ends. None on
 * systems without this feature, such as macOS: there the next start ends the process
 * (`endLeftover`).
 */
export const signalOnParentDeath = (signal: NodeJS.Signals): readonly string[] => {
  isSupported ??= process.platform === 'linux' && spawnSync('setpriv', ['--pdeathsig', 'SIGTERM', 'true']).status === 0
  return isSupported ? ['setpriv', '--pdeathsig', signal] : []
}
