import process from 'node:process'

type ProcessId = () => number | undefined

/** What a start has begun, in the order of its start, and whether its operator wants it to end. */
export type Running = {
  readonly stopAsked: AbortSignal
  readonly askToStop: () => void
  /** `stop` is called before that of everything that was added earlier. */
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
    // It was gone already.
  }
}
