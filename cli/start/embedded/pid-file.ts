import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import process from 'node:process'

/** One attempt to end a process: the signal, and the time before the next attempt. */
export type StopStep = { readonly signal: NodeJS.Signals; readonly waitMs: number }

/** Writes the id and the identity of a process, or no file if the process has ended. */
export const writePidFile = (file: string, pid: number): void => {
  const identity = processIdentity(pid)
  if (identity === undefined) return
  writeFileSync(file, `${pid} ${identity}\n`, { mode: 0o600 })
}

/**
 * Ends the process that a killed start left behind. If another process has the id by now, leaves
 * that process alone.
 */
export const endLeftover = async (file: string, steps: readonly StopStep[]): Promise<void> => {
  const left = readPidFile(file)
  if (left !== undefined && processIdentity(left.pid) === left.identity) {
    const stop = new AbortController()
    await endProcess(left.pid, untilGone(left, stop.signal), steps).finally(() => stop.abort())
  }
  rmSync(file, { force: true })
}

/**
 * Sends the signals one after the other until the process has ended.
 *
 * @throws when the process outlives the last signal
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

/** The process in the file, running or not. */
export const readPidFile = (file: string): IdentifiedProcess | undefined => {
  let content: string
  try {
    content = readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
  const match = /^(\d+) (\S+)\n$/.exec(content)
  return match?.[1] && match[2] ? { pid: Number(match[1]), identity: match[2] } : undefined
}

type IdentifiedProcess = { pid: number; identity: string }

/** Polls, since only the parent of a process can wait for its end. */
const untilGone = ({ pid, identity }: IdentifiedProcess, stop: AbortSignal): Promise<void> => {
  const lookEveryMs = 50
  return new Promise((resolve) => {
    const look = setInterval(() => {
      if (processIdentity(pid) === identity) return
      clearInterval(look)
      resolve()
    }, lookEveryMs)
    stop.addEventListener('abort', () => clearInterval(look))
  })
}

/**
 * Identifies the running process with this id. Undefined if there is none, or only a zombie. The id
 * alone is not enough: after a reboot, or in a new container, another process can have it.
 */
export const processIdentity = (pid: number): string | undefined =>
  process.platform === 'linux' ? identityFromProc(pid) : identityFromPs(pid)

const identityFromProc = (pid: number): string | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the program's name in parentheses, and the name may contain blanks and
    // parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const state = fields[0]
    if (state === 'Z' || state === 'X') return undefined
    const startTicks = fields[19]
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${startTicks}`
  } catch {
    return undefined
  }
}

const identityFromPs = (pid: number): string | undefined => {
  const answer = spawnSync('ps', ['-o', 'state=,lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
  })
  const [state = '', ...started] = (answer.stdout ?? '').trim().split(/\s+/)
  if (state === '' || state.startsWith('Z')) return undefined
  return started.join('-')
}
