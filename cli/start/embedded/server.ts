import type { StdioOptions } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { choosePort } from './free-port.ts'
import { explainFullDisk } from './full-disk.ts'
import { endLeftover, type StopStep } from './pid-file.ts'
import { rotateLog } from './program-log.ts'
import { type StartedProcess, startProcess } from './start-process.ts'

/** A server of PostgreSQL or Redis that this program has started. */
export type EmbeddedServer = Pick<StartedProcess, 'pid' | 'exited' | 'stop'> & {
  /** Connection string with user and password, in the form of psql and redis-cli. */
  readonly url: string
  readonly port: number
}

type ServerOptions = {
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

type PreparedServer = {
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
 * The variables of all embedded servers. Inherited variables could change the settings of a server
 * (PGDATA, LD_LIBRARY_PATH) or the language of its log.
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
const LINES_SHOWN = 10

/**
 * Starts a server and resolves once it serves. If an earlier start was killed and left a server in
 * `dataDir`, ends that server first.
 *
 * @throws with the end of the log, or its explanation, when the server ends or is not ready in
 * time; after a passing fault, only when TRY_AGAIN_FOR_MS have passed
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
    const logStart = existsSync(files.log) ? statSync(files.log).size : 0
    const running = await run(prepared.commandAt(port), prepared, { files, stopSteps })
    const { pid, exited, stop } = running
    if (await becomesReady(running, () => prepared.isReady({ pid, port }))) {
      return { url: prepared.urlAt(port), port, pid, exited, stop }
    }
    const hasEnded = running.hasExited()
    await stop()
    const reason = lastLines(files.log, logStart)
    if (!hasEnded) {
      throw new Error(`${name} is not ready after ${READY_WITHIN_MS / 1000} s; the end of its log:\n${reason}`)
    }
    if (!passingTrouble.test(reason) || Date.now() > giveUpAt) {
      const explained = explainFullDisk(reason) ?? options.explainEnd?.(reason)
      throw new Error(explained ?? `${name} did not start; the end of its log:\n${reason}`)
    }
    await pause(TRY_AGAIN_AFTER_MS)
  }
}

type Files = { readonly log: string; readonly pid: string }

const run = async (
  command: readonly string[],
  { env, cwd = '/', spawnAs }: PreparedServer,
  { files, stopSteps }: Pick<ServerOptions, 'stopSteps'> & { readonly files: Files },
): Promise<StartedProcess> => {
  const log = openSync(files.log, 'a', 0o600)
  const stdio: StdioOptions = ['ignore', log, log]
  try {
    const environment = { ...SERVER_ENVIRONMENT, ...env }
    return await startProcess(command, { env: environment, cwd, spawnAs, stdio, pidFile: files.pid, stopSteps })
  } finally {
    closeSync(log)
  }
}

const becomesReady = async (server: StartedProcess, isReady: () => boolean | Promise<boolean>): Promise<boolean> => {
  const deadline = Date.now() + READY_WITHIN_MS
  while (!server.hasExited() && Date.now() < deadline) {
    if (await isReady()) return true
    await pause(LOOK_EVERY_MS)
  }
  return false
}

/** The last lines that one attempt to start wrote. */
const lastLines = (logFile: string, logStart: number): string =>
  readFileSync(logFile).subarray(logStart).toString().trimEnd().split('\n').slice(-LINES_SHOWN).join('\n')
