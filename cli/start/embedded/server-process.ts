import { spawn } from 'node:child_process'
import { closeSync, openSync, rmSync } from 'node:fs'
import { endProcess, type StopStep } from './end-process.ts'
import { readPidFile, writePidFile } from './pid-file.ts'
import { SERVER_ENVIRONMENT } from './server-environment.ts'

export type ServerProcess = {
  readonly pid: number
  /** Exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>
  readonly hasExited: () => boolean
  readonly stop: () => Promise<void>
}

export type ServerProcessOptions = {
  /** The program and its arguments. */
  readonly command: readonly string[]
  /** On top of SERVER_ENVIRONMENT. */
  readonly env?: Readonly<Record<string, string>>
  readonly logFile: string
  readonly pidFile: string
  readonly stopSteps: readonly StopStep[]
  readonly spawnAs?: { readonly uid: number; readonly gid: number } | undefined
}

/** Runs a server in a session of its own, so that Ctrl-C reaches it through its owner, in the owner's order. */
export const startServerProcess = async (options: ServerProcessOptions): Promise<ServerProcess> => {
  const { command, env = {}, logFile, pidFile, stopSteps, spawnAs = {} } = options
  const [program = '', ...args] = command
  const log = openSync(logFile, 'a', 0o600)
  const child = spawn(program, args, {
    env: { ...SERVER_ENVIRONMENT, ...env },
    cwd: '/',
    detached: true,
    stdio: ['ignore', log, log],
    ...spawnAs,
  })
  closeSync(log)

  let ended = false
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => {
      ended = true
      // A next server may have put its own there already.
      if (readPidFile(pidFile)?.pid === child.pid) rmSync(pidFile, { force: true })
      resolve(code)
    })
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (cause) => reject(new Error(`cannot run ${program}`, { cause })))
  })
  const pid = child.pid
  if (pid === undefined) throw new Error(`cannot run ${program}`)
  writePidFile(pidFile, pid)
  return {
    pid,
    exited,
    hasExited: () => ended,
    stop: async () => {
      if (!ended) await endProcess(pid, exited, stopSteps)
    },
  }
}
