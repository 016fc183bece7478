import { linkSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { processIdentity, readPidFile, writePidFile } from './pid-file.ts'
import { refuseForeignDirectory } from './trusted-path.ts'

/** Another live process works in this directory. */
export class DataDirInUse extends Error {
  readonly pid: number

  constructor(dir: string, pid: number) {
    super(`${dir} is in use by process ${pid}: stop that one, or set DATA_DIR to another directory`)
    this.name = 'DataDirInUse'
    this.pid = pid
  }
}

/** Codes of the system where a path is no directory that this user can write. */
const UNUSABLE = ['EACCES', 'EEXIST', 'ENOSPC', 'ENOTDIR', 'ENOTSUP', 'EPERM', 'EROFS']

/**
 * Makes the directory this process's own until `release` or its death; a lock that a dead process
 * left is taken over.
 *
 * @throws DataDirInUse when a live process holds it, and when another user can have prepared it,
 * or the directory cannot be used
 */
export const lockDataDir = (dir: string): { readonly release: () => void } => {
  const file = join(dir, 'lock')
  try {
    takeLock(dir, file)
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? ''
    if (!UNUSABLE.includes(code)) throw cause
    throw new Error(`${dir} cannot be used (${code}): set DATA_DIR to a directory that this user can write`, { cause })
  }
  return {
    release: () => {
      if (readPidFile(file)?.pid === process.pid) rmSync(file, { force: true })
    },
  }
}

const takeLock = (dir: string, file: string): void => {
  // Others may pass through it and not list it: as root, PostgreSQL may have to run as another
  // user.
  mkdirSync(dir, { recursive: true, mode: 0o711 })
  refuseForeignDirectory(dir)
  const draft = `${file}.${process.pid}`
  rmSync(draft, { force: true })
  writePidFile(draft, process.pid)
  try {
    while (!linked(draft, file)) removeStale(file, dir)
  } finally {
    rmSync(draft, { force: true })
  }
}

/** A link either appears whole or is refused, so the lock is never seen without its owner in it. */
const linked = (draft: string, file: string): boolean => {
  try {
    linkSync(draft, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

const removeStale = (file: string, dir: string): void => {
  const owner = readPidFile(file)
  if (owner !== undefined && processIdentity(owner.pid) === owner.identity) throw new DataDirInUse(dir, owner.pid)
  const aside = `${file}.stale.${process.pid}`
  try {
    renameSync(file, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  // Between the look and the rename another start may have taken the lock over. The file that was
  // moved is then a live lock, and goes back.
  const moved = readPidFile(aside)
  if (moved !== undefined && processIdentity(moved.pid) === moved.identity) linked(aside, file)
  rmSync(aside, { force: true })
}
