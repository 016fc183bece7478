import { spawnSync } from 'node:child_process'
import process from 'node:process'

/**
 * One attempt to end a process: the signal, and how long the process has before the next attempt.
 */
export type StopStep = { readonly signal: NodeJS.Signals; readonly waitMs: number }

/**
 * Sends one signal after the other until the process is gone.
 *
 * @throws when it outlives the last one
 */
export const endProcess = async (pid: number, gone: Promise<unknown>, steps: readonly StopStep[]): Promise<void> => {
  for (const { signal, waitMs } of steps) {
    sendSignal(pid, signal)
    if (await settlesWithin(gone, waitMs)) return
  }
  throw new Error(`process ${pid} does not end, not even by ${steps.at(-1)?.signal}`)
}

const sendSignal = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

const settlesWithin = (promise: Promise<unknown>, milliseconds: number): Promise<boolean> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), milliseconds)
    void promise.then(() => {
      clearTimeout(timer)
      resolve(true)
    })
  })

let supported: boolean | undefined

/**
 * Words to put before a command so that its process gets `signal` when this program dies without a
 * chance to end it. Empty where the system cannot do that (macOS); there the next start ends the
 * process (`endLeftover`).
 */
export const signalOnParentDeath = (signal: NodeJS.Signals): readonly string[] => {
  supported ??= process.platform === 'linux' && spawnSync('setpriv', ['--pdeathsig', 'SIGTERM', 'true']).status === 0
  return supported ? ['setpriv', '--pdeathsig', signal] : []
}
