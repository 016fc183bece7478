import { spawnSync } from 'node:child_process'
import process from 'node:process'

/** One attempt to end a process: the signal, and the time before the next attempt. */
export type StopStep = { readonly signal: NodeJS.Signals; readonly waitMs: number }

/**
 * Sends the signals one after the other until the process has ended.
 *
 * @throws when it outlives the last one
 */
export const endProcess = async (pid: number, gone: Promise<unknown>, steps: readonly StopStep[]): Promise<void> => {
  for (const { signal, waitMs } of steps) {
    sendSignal(pid, signal)
    if (await settlesWithin(gone, waitMs)) return
  }
  throw new Error(`process ${pid} does not end, not even by ${steps.at(-1)?.signal}: end it, then start again`)
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
 * Words to put before a command, so that its process gets `signal` when this program is killed.
 * Empty on systems without this feature (macOS); there the next start ends the process
 * (`endLeftover`).
 */
export const signalOnParentDeath = (signal: NodeJS.Signals): readonly string[] => {
  supported ??= process.platform === 'linux' && spawnSync('setpriv', ['--pdeathsig', 'SIGTERM', 'true']).status === 0
  return supported ? ['setpriv', '--pdeathsig', signal] : []
}
