import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { endProcess, type StopStep } from './end-process.ts'

/** Remembers a child, so that the next start can end it when this program is killed first. */
export const writePidFile = (file: string, pid: number): void => {
  const identity = processIdentity(pid)
  if (identity === undefined) return
  writeFileSync(file, `${pid} ${identity}\n`, { mode: 0o600 })
}

/**
 * Ends the process that a killed start left behind; does nothing when it is gone, also when another
 * process has its id.
 */
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

/** Only its parent can wait for a process; others have to look. */
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

/**
 * A name for the process that has this id now; undefined when there is none (a zombie counts as
 * none). The id alone is not enough: after a reboot, and in a container after every start, another
 * process has it.
 */
export const processIdentity = (pid: number): string | undefined =>
  process.platform === 'linux' ? identityFromProc(pid) : identityFromPs(pid)

const identityFromProc = (pid: number): string | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the program's name in parentheses and may itself hold blanks and
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
