import { setTimeout as pause } from 'node:timers/promises'
import type { StartedProcess } from './start-process.ts'

type KeptProcess = Pick<StartedProcess, 'pid' | 'exited' | 'stop'>
type KeepOptions = {
  readonly name: string
  readonly startAgain: () => Promise<KeptProcess>
  readonly say: (line: string) => void
}

const FIRST_DELAY_MS = 500
const LONGEST_DELAY_MS = 10_000
const GOOD_RUN_MS = 30_000

/**
 * Starts a process again whenever it ends, until `stop`. The delay grows with each failure, and is
 * short again if start and run together took `GOOD_RUN_MS`. `pid` is undefined between two runs:
 * the system can give the id of an ended process to another one.
 */
export const keepRunning = (
  first: KeptProcess,
  { name, startAgain, say }: KeepOptions,
): { readonly pid: () => number | undefined; readonly stop: () => Promise<void> } => {
  const stopped = new AbortController()
  let running: KeptProcess | undefined = first
  const untilEnd = async (started: KeptProcess): Promise<string> => {
    const how = await started.exited
    running = undefined
    return `it ${how}`
  }
  const keep = async (): Promise<void> => {
    let startedAt = Date.now()
    let failures = 0
    let why = await untilEnd(first)
    while (!stopped.signal.aborted) {
      failures = Date.now() - startedAt >= GOOD_RUN_MS ? 1 : failures + 1
      const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), LONGEST_DELAY_MS)
      say(`${name} is started again in ${delayMs / 1000} s: ${why}`)
      await pause(delayMs, undefined, { signal: stopped.signal }).catch(() => {})
      if (stopped.signal.aborted) return
      startedAt = Date.now()
      try {
        running = await startAgain()
        if (!stopped.signal.aborted) why = await untilEnd(running)
      } catch (error) {
        why = error instanceof Error ? error.message : String(error)
      }
    }
  }
  const kept = keep()
  const stop = async (): Promise<void> => {
    stopped.abort()
    await running?.stop()
    await kept
    // The process may have been started again meanwhile.
    await running?.stop()
  }
  return { pid: () => running?.pid, stop }
}
