import { spawn } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { endLeftoverProgram, type KeptProgram, runProgram } from './embedded/kept-program.ts'
import type { LauncherConfig } from './launcher-config.ts'
import type { Ports } from './reserve-ports.ts'
import type { Running } from './running.ts'
import { httpAddress } from './start-message.ts'

type Environment = Readonly<Record<string, string | undefined>>

const READY_WITHIN_MS = 60_000
const LOOK_EVERY_MS = 50
/** `/readyz` answers sooner. Another program on the port may never answer. */
const ANSWER_WITHIN_MS = 5_000

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Ends the API and the worker of an earlier start that was killed. */
export const endLeftoverPrograms = async ({ DATA_DIR }: LauncherConfig): Promise<void> => {
  await Promise.all(['api', 'worker'].map((name) => endLeftoverProgram(pidFileOf(DATA_DIR, name))))
}

/**
 * Migrates the database in a separate program.
 *
 * @throws with its output when it fails
 */
export const migrate = async (env: Environment, stopAsked: AbortSignal): Promise<void> => {
  stopAsked.throwIfAborted()
  const child = spawn(process.execPath, [join(root, 'cli/migrate-command.ts')], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0) throw new Error(`${output.trimEnd()}\nThe database could not be migrated.`)
}

/**
 * Starts a worker and the API, and keeps them running once the API is ready.
 *
 * @throws when one of them ends before
 */
export const startPrograms = async (options: {
  config: LauncherConfig
  env: Environment
  ports: Ports
  running: Running
  say: (line: string) => void
}): Promise<void> => {
  const { config, env, ports, running, say } = options
  running.stopAsked.throwIfAborted()
  await ports.api.release()
  const programs = ['worker', 'api'].map((name) =>
    runProgram({
      name,
      command: [process.execPath, join(root, name, 'main.ts')],
      env,
      logFile: join(config.DATA_DIR, 'logs', `${name}.log`),
      pidFile: pidFileOf(config.DATA_DIR, name),
      say,
    }),
  )
  running.add(
    () => Promise.all(programs.map((program) => program.stop())),
    programs.map(({ pid }) => pid),
  )
  const ready = answersReady(`${httpAddress(config.HOST, ports.api.port)}/readyz`, running.stopAsked)
  await Promise.race([ready, ...programs.map(failsEarly)])
  for (const program of programs) program.keep()
}

const failsEarly = async ({ earlyEnd }: KeptProgram): Promise<never> => {
  throw new Error(await earlyEnd)
}

const answersReady = async (url: string, stopAsked: AbortSignal): Promise<void> => {
  const deadline = Date.now() + READY_WITHIN_MS
  while (Date.now() < deadline) {
    stopAsked.throwIfAborted()
    const ready = await fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) }).then(
      async (answer) => (await answer.arrayBuffer(), answer.status === 200),
      () => false,
    )
    if (ready) return
    await pause(LOOK_EVERY_MS)
  }
  throw new Error(
    `The API is not ready after ${READY_WITHIN_MS / 1000} s. Read its log and the worker's in DATA_DIR/logs.`,
  )
}

const pidFileOf = (dataDir: string, name: string): string => join(dataDir, `${name}.pid`)
