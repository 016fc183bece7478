import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Environment } from '../../runtime/settings.ts'
import { keepRunning } from './embedded/keep-running.ts'
import { endLeftover, type StopStep } from './embedded/pid-file.ts'
import { programLog } from './embedded/program-log.ts'
import { runToEnd, signalOnParentDeath, type StartedProcess, startProcess } from './embedded/start-process.ts'
import type { LauncherConfig } from './launcher-config.ts'
import type { Ports } from './reserve-ports.ts'
import type { Running } from './running.ts'
import { httpAddress } from './start-message.ts'

const READY_WITHIN_MS = 60_000
const LOOK_EVERY_MS = 50
/** `/readyz` answers sooner. Another program on the port may never answer. */
const ANSWER_WITHIN_MS = 5_000

const PROGRAMS = ['worker', 'api'] as const
/**
 * A program ends within SHUTDOWN_SECONDS after SIGTERM. If it takes this much longer, it hangs and
 * is killed.
 */
const HANGS_AFTER_MS = 5_000

const stopSteps = ({ SHUTDOWN_SECONDS }: LauncherConfig): readonly StopStep[] => [
  { signal: 'SIGTERM', waitMs: SHUTDOWN_SECONDS * 1_000 + HANGS_AFTER_MS },
  { signal: 'SIGKILL', waitMs: 5_000 },
]

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Ends the API and the worker of an earlier start that was killed. */
export const endLeftoverPrograms = async (config: LauncherConfig): Promise<void> => {
  await Promise.all(PROGRAMS.map((name) => endLeftover(pidFileOf(config.DATA_DIR, name), stopSteps(config))))
}

/**
 * Migrates the database in a separate program.
 *
 * @throws with the output of the program when the migration fails
 */
export const migrate = async (env: Environment, stopAsked: AbortSignal): Promise<void> => {
  stopAsked.throwIfAborted()
  const { how, output } = await runToEnd([process.execPath, join(root, 'cli/migrate-command.ts')], { env })
  if (how !== 0) throw new Error(`${output.trimEnd()}\nThe database could not be migrated.`)
}

type Starting = {
  readonly config: LauncherConfig
  readonly env: Environment
  readonly ports: Ports
  readonly running: Running
  readonly say: (line: string) => void
}

/**
 * Starts a worker and the API, and keeps them running once the API is ready.
 *
 * @throws when a program ends before the API is ready, or the API is not ready in time
 */
export const startPrograms = async (options: Starting): Promise<void> => {
  const { config, ports, running, say } = options
  running.stopAsked.throwIfAborted()
  await ports.api.release()
  const programs = await Promise.all(PROGRAMS.map((name) => startProgram(name, options)))
  const ready = answersReady(`${httpAddress(config.HOST, ports.api.port)}/readyz`, running.stopAsked)
  await Promise.race([ready, ...programs.map(failsEarly)])
  const kept = programs.map(({ first, name, start }) => keepRunning(first, { name, startAgain: start, say }))
  running.add(
    () => Promise.all(kept.map(({ stop }) => stop())),
    kept.map(({ pid }) => pid),
  )
}

type LoggedProgram = {
  readonly name: string
  readonly logFile: string
  readonly start: () => Promise<StartedProcess>
  readonly first: StartedProcess
}

/** Starts a program with its log. Lines for the operator also go to `say`. */
const startProgram = async (
  name: (typeof PROGRAMS)[number],
  { config, env, running, say }: Starting,
): Promise<LoggedProgram> => {
  const logFile = join(config.DATA_DIR, 'logs', `${name}.log`)
  const log = programLog(logFile, (line) => say(`[${name}] ${line}`))
  running.add(log.close)
  const start = (): Promise<StartedProcess> =>
    startProcess([...signalOnParentDeath('SIGTERM'), process.execPath, join(root, name, 'main.ts')], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      take: log.take,
      pidFile: pidFileOf(config.DATA_DIR, name),
      stopSteps: stopSteps(config),
    })
  const first = await start()
  running.add(first.stop, [() => (first.hasExited() ? undefined : first.pid)])
  return { name, logFile, start, first }
}

const failsEarly = async ({ name, first, logFile }: LoggedProgram): Promise<never> => {
  throw new Error(`${name} ${await first.exited}; its log: ${logFile}`)
}

const answersReady = async (url: string, stopAsked: AbortSignal): Promise<void> => {
  const deadline = Date.now() + READY_WITHIN_MS
  while (Date.now() < deadline) {
    stopAsked.throwIfAborted()
    const isReady = await fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) }).then(
      async (answer) => (await answer.arrayBuffer(), answer.status === 200),
      () => false,
    )
    if (isReady) return
    await pause(LOOK_EVERY_MS)
  }
  throw new Error(
    `The API is not ready after ${READY_WITHIN_MS / 1000} s. Read its log and the worker's in DATA_DIR/logs.`,
  )
}

const pidFileOf = (dataDir: string, name: string): string => join(dataDir, `${name}.pid`)
