import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NetworkHost } from './network.ts'

/** A clock that can be set while programs use it. */
export type Clock = {
  readonly host: NetworkHost
  /** Sets the clock to this many seconds ahead of this machine's; negative is behind. */
  readonly set: (aheadSeconds: number) => void
}

/** The library of libfaketime, from its program `faketime`; undefined if that is not installed. */
export const clockLibrary = (): string | undefined => {
  const { status, stdout } = spawnSync('faketime', ['-m', '-f', '+0', 'printenv', 'LD_PRELOAD'], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

const SHARED_MEMORY = '/dev/shm'

/**
 * If its process is killed, libfaketime 0.9.10 leaves two files in shared memory, named after the
 * process id. A later process with the same id and another user may not open them, and ends.
 */
export const forgetEndedClocks = (): void => {
  for (const name of readdirSync(SHARED_MEMORY)) {
    const pid = /^(?:sem\.faketime_sem_|faketime_shm_)(\d+)$/.exec(name)?.[1]
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(SHARED_MEMORY, name), { force: true })
  }
}

/**
 * With jemalloc, the allocator of Redis, libfaketime waits for itself at the start. So this
 * preloads another allocator.
 */
const ALLOCATOR = 'libc_malloc_debug.so.0'

const offsetOf = (aheadSeconds: number): string => `${aheadSeconds < 0 ? '' : '+'}${aheadSeconds}`

/**
 * A host whose clock differs from this machine's. Clocks for durations are not changed, as on real
 * machines.
 */
const hostWith = (name: string, library: string, time: string): NetworkHost => ({
  name,
  address: '127.0.0.1',
  via: ['env', `LD_PRELOAD=${ALLOCATOR} ${library}`, 'FAKETIME_DONT_FAKE_MONOTONIC=1', time],
})

export const hostAhead = (name: string, library: string, aheadSeconds: number): NetworkHost =>
  hostWith(name, library, `FAKETIME=${offsetOf(aheadSeconds)}`)

/** `file` has the offset of the clock. The user of the programs has to be able to read it. */
export const openClock = (file: string, library: string, aheadSeconds: number): Clock => {
  const set = (seconds: number): void => writeFileSync(file, `${offsetOf(seconds)}\n`)
  set(aheadSeconds)
  const { via, ...host } = hostWith(file, library, `FAKETIME_TIMESTAMP_FILE=${file}`)
  return { host: { ...host, via: [...via, 'FAKETIME_NO_CACHE=1'] }, set }
}
