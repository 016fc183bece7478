import { spawn, type ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { endProcess, signalOnParentDeath, type StopStep } from './end-process.ts'
import { endLeftover, writePidFile } from './pid-file.ts'
import { programLog } from './program-log.ts'
import { restartDelays } from './restart-delay.ts'

export type ProgramOptions = {
  readonly name: string
  /** The program and its arguments. */
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly logFile: string
  readonly pidFile: string
  readonly say: (line: string) => void
}

export type KeptProgram = {
  readonly pid: () => number | undefined
  /** How the program ended, if it ended before `keep`. */
  readonly earlyEnd: Promise<string>
  /** From this call on, the program is started again whenever it ends. */
  readonly keep: () => void
  readonly stop: () => Promise<void>
}

/** Sends SIGTERM, and gives the program time to finish its work. */
const STOP_STEPS: readonly StopStep[] = [
  { signal: 'SIGTERM', waitMs: 15_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
]

/** Ends the program of an earlier start that was killed. */
export const endLeftoverProgram = (pidFile: string): Promise<void> => endLeftover(pidFile, STOP_STEPS)

/**
 * Runs a program until it is stopped. Its output goes to its log, and lines for the operator also
 * to `say`.
 */
export const runProgram = (options: ProgramOptions): KeptProgram => {
  const { name, logFile, pidFile, say } = options
  const log = programLog(logFile, (line) => say(`[${name}] ${line}`))
  const delays = restartDelays()
  const { promise: earlyEnd, resolve: tellEarlyEnd } = Promise.withResolvers<string>()
  let child: ChildProcess | undefined
  let ended: Promise<void> = Promise.resolve()
  let restart: NodeJS.Timeout | undefined
  let state: 'starting' | 'kept' | 'stopping' = 'starting'
  const run = (): void => {
    const startedAt = Date.now()
    const started = spawnProgram(options, log)
    child = started
    ended = endOf(started, pidFile).then((how) => {
      child = undefined
      if (state === 'starting') tellEarlyEnd(`${name} ${how}; its log: ${logFile}`)
      else if (state === 'kept') startAgain(how, Date.now() - startedAt)
    })
  }
  const startAgain = (how: string, ranMs: number): void => {
    const delayMs = delays.next(ranMs)
    say(`${name} ${how}; it is started again in ${delayMs / 1000} s`)
    restart = setTimeout(run, delayMs)
  }
  run()
  return {
    pid: () => child?.pid,
    earlyEnd,
    keep: () => {
      state = 'kept'
      if (child === undefined) startAgain('has ended', 0)
    },
    stop: async () => {
      state = 'stopping'
      clearTimeout(restart)
      if (child?.pid !== undefined) await endProcess(child.pid, ended, STOP_STEPS)
      await log.close()
    },
  }
}

const spawnProgram = ({ command, env, pidFile }: ProgramOptions, log: ReturnType<typeof programLog>): ChildProcess => {
  const [program = '', ...args] = [...signalOnParentDeath('SIGTERM'), ...command]
  // In its own session the program does not get Ctrl-C from the terminal, since the launcher stops
  // programs in order.
  const child = spawn(program, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  if (child.pid !== undefined) writePidFile(pidFile, child.pid)
  log.take(child.stdout)
  log.take(child.stderr)
  return child
}

/** How a program ends. */
const endOf = async (child: ChildProcess, pidFile: string): Promise<string> => {
  const how = await new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`cannot be run: ${error.message}`))
    // At `close` all output has been read; at `exit` some may be missing.
    child.once('close', (code, signal) => resolve(`ended with ${code ?? signal}`))
  })
  rmSync(pidFile, { force: true })
  return how
}
