import process from 'node:process'

/** A function, since a process that is started again gets another id. */
type CurrentPid = () => number | undefined

/** The servers and programs that a start has begun, and whether the operator has asked to stop. */
export type Running = {
  readonly stopAsked: AbortSignal
  readonly askToStop: () => void
  /** `stopAll` calls this `stop` before the `stop` of earlier additions. */
  readonly add: (stop: () => unknown, pids?: readonly CurrentPid[]) => void
  readonly stopAll: () => Promise<void>
  /** Kills all processes without waiting for their end. The next start cleans up. */
  readonly killAll: () => void
}

export const createRunning = (): Running => {
  const stopAsked = new AbortController()
  const stack = new AsyncDisposableStack()
  const processes: CurrentPid[] = []
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
    // The process has already ended.
  }
}
