import process from 'node:process'

type ProcessId = () => number | undefined

/**
 * The servers and programs of a start, in their order, and whether the operator wants to end it.
 */
export type Running = {
  readonly stopAsked: AbortSignal
  readonly askToStop: () => void
  /** `stop` is called before the `stop` of earlier additions. */
  readonly add: (stop: () => unknown, pids?: readonly ProcessId[]) => void
  readonly stopAll: () => Promise<void>
  /** Kills all processes at once; the next start cleans up. */
  readonly killAll: () => void
}

export const newRunning = (): Running => {
  const stopAsked = new AbortController()
  const stack = new AsyncDisposableStack()
  const processes: ProcessId[] = []
  return {
    stopAsked: stopAsked.signal,
    askToStop: () => stopAsked.abort(),
    add: (stop, pids = []) => {
      stack.defer(async () => void (await stop()))
      processes.push(...pids)
    },
    stopAll: () => stack.disposeAsync(),
    killAll: () => processes.forEach((pid) => kill(pid())),
  }
}

const kill = (pid: number | undefined): void => {
  try {
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
  } catch {
    // It has already ended.
  }
}
