import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/**
 * The memory of a process and its descendants, and their processor time. On Linux, the processor
 * time includes ended descendants.
 */
type Usage = { readonly cpuSeconds: number; readonly memoryBytes: number }

type ProcessUsage = { pid: number; parent: number; cpuSeconds: number; memoryBytes: number }

/** The unit of Linux (`getconf CLK_TCK`), on every architecture of the embedded servers. */
const TICKS_PER_SECOND = 100
const SAMPLE_EVERY_MS = 200
/** The processes are idle if all together use less than this share of a processor for this long. */
const QUIET_SHARE = 0.15
const QUIET_FOR_MS = 400
const QUIET_WITHIN_MS = 10_000

/** The usage of process trees, by name. */
export const usageOf = <Name extends string>(roots: Readonly<Record<Name, number>>): Record<Name, Usage> => {
  const entries = existsSync('/proc/self/stat') ? fromProc() : fromPs()
  const used = (Object.entries(roots) as [Name, number][]).map(([name, pid]) => [name, sum(treeOf(pid, entries))])
  return Object.fromEntries(used) as Record<Name, Usage>
}

/**
 * Waits until the processes have finished earlier work, such as tags of earlier feedback. The wait
 * is bounded, since servers also do maintenance.
 */
export const untilQuiet = async (roots: Readonly<Record<string, number>>): Promise<void> => {
  const giveUpAt = performance.now() + QUIET_WITHIN_MS
  let before = usedBy(roots)
  while (performance.now() < giveUpAt) {
    await pause(QUIET_FOR_MS)
    const after = usedBy(roots)
    if (after - before < (QUIET_SHARE * QUIET_FOR_MS) / 1_000) return
    before = after
  }
}

const usedBy = (roots: Readonly<Record<string, number>>): number =>
  Object.values(usageOf(roots)).reduce((total, { cpuSeconds }) => total + cpuSeconds, 0)

/** Runs the work and returns the highest memory of each process tree meanwhile, in bytes. */
export const peakMemory = async <Name extends string>(
  roots: Readonly<Record<Name, number>>,
  work: () => Promise<void>,
): Promise<Record<Name, number>> => {
  const peaks: Partial<Record<Name, number>> = {}
  const look = (): void => {
    for (const [name, { memoryBytes }] of Object.entries(usageOf(roots)) as [Name, Usage][]) {
      peaks[name] = Math.max(peaks[name] ?? 0, memoryBytes)
    }
  }
  const timer = setInterval(look, SAMPLE_EVERY_MS)
  try {
    await work()
  } finally {
    clearInterval(timer)
  }
  look()
  return peaks as Record<Name, number>
}

const treeOf = (root: number, entries: readonly ProcessUsage[]): ProcessUsage[] => {
  const own = entries.filter(({ pid }) => pid === root)
  const children = entries.filter(({ parent }) => parent === root)
  return [...own, ...children.flatMap(({ pid }) => treeOf(pid, entries))]
}

const sum = (entries: readonly ProcessUsage[]): Usage => ({
  cpuSeconds: entries.reduce((total, { cpuSeconds }) => total + cpuSeconds, 0),
  memoryBytes: entries.reduce((total, { memoryBytes }) => total + memoryBytes, 0),
})

const fromProc = (): ProcessUsage[] => {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [entryOf(name)]
      } catch {
        // The process has ended meanwhile.
        return []
      }
    })
}

/**
 * Numbers the fields as proc(5) does, and reads them from the third on: the second is a name with
 * arbitrary characters.
 */
const entryOf = (pid: string): ProcessUsage => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const field = (number: number): number => Number(fields[number - 3])
  const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0'
  return {
    pid: Number(pid),
    parent: field(4),
    // Time in user and system mode, of the process and of its ended children.
    cpuSeconds: (field(14) + field(15) + field(16) + field(17)) / TICKS_PER_SECOND,
    memoryBytes: Number(resident) * 1024,
  }
}

/** macOS: time is [[days-]hours:]minutes:seconds, memory in kilobytes. */
const fromPs = (): ProcessUsage[] => {
  const lines = execFileSync('ps', ['-axo', 'pid=,ppid=,time=,rss='], { encoding: 'utf8' }).trim().split('\n')
  return lines.map((line) => {
    const [pid = '', parent = '', time = '', kilobytes = ''] = line.trim().split(/\s+/)
    const [days, clock] = time.includes('-') ? time.split('-') : ['0', time]
    const seconds = clock!.split(':').reduce((total, part) => total * 60 + Number(part), 0)
    return {
      pid: Number(pid),
      parent: Number(parent),
      cpuSeconds: Number(days) * 86_400 + seconds,
      memoryBytes: Number(kilobytes) * 1024,
    }
  })
}
