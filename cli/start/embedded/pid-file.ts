import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { endProcess, type StopStep } from './end-process.ts'
import { processIdentity } from './process-identity.ts'

/** Remembers a child, so that the next start can end it if this program is killed before it could. */
export const writePidFile = (file: string, pid: number): void => {
  const identity = processIdentity(pid)
  if (identity === undefined) return
  writeFileSync(file, `${pid} ${identity}\n`, { mode: 0o600 })
}

/** Ends the process that an earlier, killed start left behind; does nothing when it is gone or its id is another's. */
export const endLeftover = async (file: string, steps: readonly StopStep[]): Promise<void> => {
  const left = readPidFile(file)
  if (left !== undefined && processIdentity(left.pid) === left.identity) {
    await endProcess(left.pid, untilGone(left.pid, left.identity), steps)
  }
  rmSync(file, { force: true })
}

/** The process that a file names, whether or not it still runs. */
export const readPidFile = (file: string): { pid: number; identity: string } | undefined => {
  let content: string
  try {
    content = readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
  const match = /^(\d+) (\S+)\n$/.exec(content)
  return match?.[1] && match[2] ? { pid: Number(match[1]), identity: match[2] } : undefined
}

/** Somebody else's child cannot be waited for, only looked at. */
const untilGone = (pid: number, identity: string): Promise<void> => {
  const lookEveryMs = 50
  return new Promise((resolve) => {
    const look = setInterval(() => {
      if (processIdentity(pid) === identity) return
      clearInterval(look)
      resolve()
    }, lookEveryMs)
  })
}
