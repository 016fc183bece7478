import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import * as fc from 'fast-check'
import type { startRedis } from '../../cli/start/embedded/redis-server.ts'
import { findLastingPort } from './lasting-port.ts'
import { spawnProgram } from './service-process.ts'
import { GUARD_MS } from './until.ts'

export const SIGNALS = ['SIGTERM', 'SIGKILL', 'SIGSTOP'] as const
type FaultSignal = (typeof SIGNALS)[number]

/** A process that starts again when it ends, as under an init system. `hold` keeps it down. */
export type Kept = {
  pid: () => number | undefined
  exited: () => Promise<unknown>
  /** Ends the process, by default gracefully. It stays down until `letGo`. */
  hold: (how?: 'SIGKILL') => Promise<void>
  letGo: () => void
  stop: () => Promise<void>
}
type Running = { pid: number; exited: Promise<unknown>; stop: () => Promise<void> }

/**
 * A process that still runs this long after a signal gets SIGINT. After SIGTERM, Postgres waits for
 * its clients; SIGINT ends their sessions.
 */
const TERM_PATIENCE_MS = 3_000
const START_AGAIN_AFTER_MS = 50

export const keepServer = async (
  start: (at: { port: number }) => ReturnType<typeof startRedis>,
): Promise<Kept & { url: string }> => {
  const port = await findLastingPort()
  const first = await start({ port })
  let given: typeof first | undefined = first
  const kept = await keep(async () => {
    const server = given ?? (await start({ port }))
    given = undefined
    return server
  })
  return { ...kept, url: first.url }
}

export const keep = async (start: () => Promise<Running>): Promise<Kept> => {
  const stopped = new AbortController()
  let isHeld = false
  let current: Running | undefined = await start()
  let starting: Promise<Running | undefined> | undefined
  const watch = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      if (current !== undefined) {
        await current.exited
        current = undefined
      }
      await pause(START_AGAIN_AFTER_MS)
      if (isHeld || stopped.signal.aborted) continue
      starting = start().catch(() => undefined)
      current = await starting
    }
  }
  const watching = watch()
  return {
    pid: () => current?.pid,
    exited: async () => current?.exited,
    hold: async (how) => {
      isHeld = true
      // A process that is just starting has to end, too.
      await starting
      if (how === undefined) return current?.stop()
      const exited = current?.exited
      send(current?.pid, how)
      await exited
    },
    letGo: () => {
      isHeld = false
    },
    stop: async () => {
      stopped.abort()
      await starting
      await current?.stop()
      await watching
    },
  }
}

export const runProgram = async (
  program: string,
  environment: Record<string, string>,
  onOutput: (text: string) => void,
): Promise<Running> => {
  const child = spawnProgram(program, [], environment)
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', onOutput)
  const exited = once(child, 'exit')
  return {
    pid: child.pid!,
    exited,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      process.kill(child.pid!, 'SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), GUARD_MS)
      await exited
      clearTimeout(late)
    },
  }
}

export const send = (pid: number | undefined, signal: NodeJS.Signals): void => {
  try {
    if (pid !== undefined) process.kill(pid, signal)
  } catch {
    // The process has ended.
  }
}

/** Random strikes of these processes, each with a pause after it. */
export const randomStrikes = (targets: readonly Kept[]) =>
  fc.record({
    target: fc.constantFrom(...targets),
    signal: fc.constantFrom<FaultSignal[]>(...SIGNALS),
    stopMs: fc.integer({ min: 100, max: 2_500 }),
    thenMs: fc.integer({ min: 0, max: 1_500 }),
  })

/** Strikes a process, and waits until it has ended, or has resumed after SIGSTOP. */
export const strike = async (kept: Kept, signal: FaultSignal, stopMs: number): Promise<void> => {
  if (signal === 'SIGSTOP') {
    const goOn = freeze(kept)
    await pause(stopMs)
    goOn()
    return
  }
  const exited = kept.exited()
  send(kept.pid(), signal)
  const hasExited = await Promise.race([exited.then(() => true), pause(TERM_PATIENCE_MS, false)])
  if (!hasExited) send(kept.pid(), 'SIGINT')
  await exited
}

/** Freezes a process and its children. Returns a function that resumes or kills them. */
export const freeze = (kept: Pick<Kept, 'pid'>): ((how?: 'SIGCONT' | 'SIGKILL') => void) => {
  const pid = kept.pid()
  if (pid === undefined) return () => {}
  // In Postgres, the children serve the clients.
  const pids = [pid, ...childrenOf(pid)]
  for (const each of pids) send(each, 'SIGSTOP')
  return (how = 'SIGCONT') => {
    for (const each of pids) send(each, how)
  }
}

const childrenOf = (parent: number): number[] =>
  process.platform === 'linux' ? childrenFromProc(parent) : childrenFromPgrep(parent)

/** A small Linux has no pgrep. */
const childrenFromProc = (parent: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent
      } catch {
        return false
      }
    })
    .map(Number)

const childrenFromPgrep = (parent: number): number[] =>
  spawnSync('pgrep', ['-P', String(parent)], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter(Boolean)
    .map(Number)
