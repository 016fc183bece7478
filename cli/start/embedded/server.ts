import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { endProcess, type StopStep } from './end-process.ts'
import { choosePort } from './free-port.ts'
import { endLeftover, readPidFile, writePidFile } from './pid-file.ts'
import { rotateLog } from './program-log.ts'

/** A database server that this program has started and answers for. */
export type EmbeddedServer = {
  /** Connection string with user and password, as psql and redis-cli take it. */
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Exit code once the server has ended; null when a signal ended it. */
  readonly exited: Promise<number | null>
  /** Ends the server cleanly, by force when it does not obey; may be called again. */
  readonly stop: () => Promise<void>
}

export type ServerOptions = {
  readonly name: string
  /** Everything of this server goes below it: data, password, port, log. */
  readonly dataDir: string
  readonly logName: string
  readonly wantedPort: number | undefined
  readonly stopSteps: readonly StopStep[]
  /** What a server says when it gives up over something that passes by itself. */
  readonly passingTrouble: RegExp
  /** What the end of the log means, and what to do, where that is known. */
  readonly explainEnd?: (log: string) => string | undefined
  /** Called when no former server works in `dataDir` any more. */
  readonly prepare: () => PreparedServer | Promise<PreparedServer>
}

export type PreparedServer = {
  readonly urlAt: (port: number) => string
  /** The program and its arguments; called before each attempt to start it. */
  readonly commandAt: (port: number) => readonly string[]
  /** What the server sees beside SERVER_ENVIRONMENT. */
  readonly env?: Readonly<Record<string, string>>
  readonly spawnAs?: { readonly uid: number; readonly gid: number } | undefined
  /** The directory that it is started in; `/` when left out. */
  readonly cwd?: string
  readonly isReady: (running: { readonly pid: number; readonly port: number }) => boolean | Promise<boolean>
}

/**
 * What embedded servers see of the environment. The rest would reach them as settings (PGDATA,
 * LD_LIBRARY_PATH) or turn up in their logs in another language.
 */
export const SERVER_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
}

/**
 * A server that has crashed or has much data first replays its log or reads its append-only file.
 */
const READY_WITHIN_MS = 120_000
const LOOK_EVERY_MS = 20
const TRY_AGAIN_AFTER_MS = 500
const TRY_AGAIN_FOR_MS = 30_000

/**
 * Starts a server and resolves once it serves; first ends a server that a killed start left behind
 * in `dataDir`.
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
 * Runs a server in a session of its own, so that Ctrl-C reaches it through its owner, in the
 * owner's order.
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
      // The next server may have written its own id there already.
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
