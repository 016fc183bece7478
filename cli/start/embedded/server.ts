import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { endProcess, type StopStep } from './end-process.ts'
import { choosePort } from './free-port.ts'
import { endLeftover, readPidFile, writePidFile } from './pid-file.ts'
import { rotateLog } from './program-log.ts'

/** A database server that this program has started and looks after. */
export type EmbeddedServer = {
  /** Connection string with user and password, in the form of psql and redis-cli. */
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Exit code once the server has ended; null if a signal ended it. */
  readonly exited: Promise<number | null>
  /** Ends the server cleanly, or by force if it does not obey. May be called again. */
  readonly stop: () => Promise<void>
}

export type ServerOptions = {
  readonly name: string
  /** The folder for all files of the server: data, password, port, log. */
  readonly dataDir: string
  readonly logName: string
  readonly wantedPort: number | undefined
  readonly stopSteps: readonly StopStep[]
  /** Words in the log of a server that ended because of a passing fault. */
  readonly passingTrouble: RegExp
  /** Explains the end of the log, with a remedy, if the reason is known. */
  readonly explainEnd?: (log: string) => string | undefined
  /** Called when no earlier server runs in `dataDir`. */
  readonly prepare: () => PreparedServer | Promise<PreparedServer>
}

export type PreparedServer = {
  readonly urlAt: (port: number) => string
  /** The program and its arguments; called before each attempt to start it. */
  readonly commandAt: (port: number) => readonly string[]
  /** Variables of the server in addition to SERVER_ENVIRONMENT. */
  readonly env?: Readonly<Record<string, string>>
  readonly spawnAs?: { readonly uid: number; readonly gid: number } | undefined
  /** The directory in which the server starts; by default `/`. */
  readonly cwd?: string
  readonly isReady: (running: { readonly pid: number; readonly port: number }) => boolean | Promise<boolean>
}

/**
 * The variables of embedded servers. Others would change their settings (PGDATA, LD_LIBRARY_PATH)
 * or the language of their logs.
 */
export const SERVER_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
}

/**
 * A server first replays its log or reads its append-only file, which takes time after a crash or
 * with much data.
 */
const READY_WITHIN_MS = 120_000
const LOOK_EVERY_MS = 20
const TRY_AGAIN_AFTER_MS = 500
const TRY_AGAIN_FOR_MS = 30_000

/**
 * Starts a server and resolves once it serves. First ends the server in `dataDir` of an earlier
 * start that was killed.
 *
 * @throws with the end of the server's log when it gives up or takes too long
 */
export const startServer = async (options: ServerOptions): Promise<EmbeddedServer> => {
  const { name, dataDir, stopSteps, passingTrouble } = options
  const files = { log: join(dataDir, options.logName), pid: join(dataDir, 'pid') }
  await endLeftover(files.pid, stopSteps)
  rotateLog(files.log)
  const prepared = await options.prepare()
  const giveUpAt = Date.now() + TRY_AGAIN_FOR_MS
  for (;;) {
    const port = await choosePort(join(dataDir, 'port'), options.wantedPort)
    const running = await run(prepared.commandAt(port), { ...prepared, files, stopSteps })
    const { pid, exited, stop } = running
    if (await becomesReady(running, () => prepared.isReady({ pid, port }))) {
      return { url: prepared.urlAt(port), port, pid, exited, stop }
    }
    const gaveUp = running.hasExited()
    await stop()
    const reason = lastLines(files.log)
    if (!gaveUp) {
      throw new Error(`${name} is not ready after ${READY_WITHIN_MS / 1000} s; the end of its log:\n${reason}`)
    }
    if (!passingTrouble.test(reason) || Date.now() > giveUpAt) {
      throw new Error(options.explainEnd?.(reason) ?? `${name} did not start; the end of its log:\n${reason}`)
    }
    await pause(TRY_AGAIN_AFTER_MS)
  }
}

type RunOptions = Pick<PreparedServer, 'env' | 'spawnAs' | 'cwd'> & {
  readonly files: { readonly log: string; readonly pid: string }
  readonly stopSteps: readonly StopStep[]
}
type Running = Pick<EmbeddedServer, 'pid' | 'exited' | 'stop'> & { readonly hasExited: () => boolean }

/**
 * Runs a server in its own session, so that Ctrl-C does not reach it and its owner can stop servers
 * in order.
 */
const run = async ([program = '', ...args]: readonly string[], options: RunOptions): Promise<Running> => {
  const { env, spawnAs, cwd = '/', files, stopSteps } = options
  const log = openSync(files.log, 'a', 0o600)
  const child = spawn(program, args, {
    env: { ...SERVER_ENVIRONMENT, ...env },
    cwd,
    detached: true,
    stdio: ['ignore', log, log],
    ...spawnAs,
  })
  closeSync(log)
  let ended = false
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => {
      ended = true
      // The next server may have written its id already.
      if (readPidFile(files.pid)?.pid === child.pid) rmSync(files.pid, { force: true })
      resolve(code)
    })
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (cause) => reject(new Error(`cannot run ${program}`, { cause })))
  })
  const pid = child.pid
  if (pid === undefined) throw new Error(`cannot run ${program}`)
  writePidFile(files.pid, pid)
  return {
    pid,
    exited,
    hasExited: () => ended,
    stop: async () => {
      if (!ended) await endProcess(pid, exited, stopSteps)
    },
  }
}

const becomesReady = async (server: Running, isReady: () => boolean | Promise<boolean>): Promise<boolean> => {
  const deadline = Date.now() + READY_WITHIN_MS
  while (!server.hasExited() && Date.now() < deadline) {
    if (await isReady()) return true
    await pause(LOOK_EVERY_MS)
  }
  return false
}

const lastLines = (logFile: string, count = 10): string =>
  readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-count).join('\n')
