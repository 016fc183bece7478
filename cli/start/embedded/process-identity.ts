import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import process from 'node:process'

/**
 * Names the process that has this id now, or answers undefined when there is none (a zombie counts as none).
 * An id alone is not enough: after a reboot, and in a container after every start, it belongs to somebody else.
 */
export const processIdentity = (pid: number): string | undefined => {
  return process.platform === 'linux' ? identityFromProc(pid) : identityFromPs(pid)
}

const identityFromProc = (pid: number): string | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the program's name in parentheses and may itself hold blanks and parentheses.
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
    env: psEnvironment(),
  })
  const [state = '', ...started] = (answer.stdout ?? '').trim().split(/\s+/)
  if (state === '' || state.startsWith('Z')) return undefined
  return started.join('-')
}

const psEnvironment = (): Record<string, string> => {
  return { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
}
