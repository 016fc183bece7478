import { linkSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { processIdentity, readPidFile, writePidFile } from './pid-file.ts'
import { refuseForeignDirectory } from './trusted-path.ts'

/** Codes of the system for a directory that cannot be used. */
const UNUSABLE = ['EACCES', 'EEXIST', 'ENOSPC', 'ENOTDIR', 'ENOTSUP', 'EPERM', 'EROFS']

/**
 * Locks the directory until this process calls `release` or ends. Takes over the lock of a dead
 * process.
 *
 * @throws when a live process holds the lock, when another user may have prepared the directory,
 * and when it cannot be used
 */
export const lockDataDir = (dir: string): { readonly release: () => void } => {
  const file = join(dir, 'lock')
  try {
    takeLock(dir, file)
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? ''
    if (!UNUSABLE.includes(code)) throw cause
    throw new Error(`${dir} cannot be used (${code}): ${remedyOf(code)}`, { cause })
  }
  return {
    release: () => {
      if (readPidFile(file)?.pid === process.pid) rmSync(file, { force: true })
    },
  }
}

const remedyOf = (code: string): string => {
  switch (code) {
    case 'ENOSPC':
      return 'free some space on its disk, or set DATA_DIR to a directory on another disk'
    case 'ENOTSUP':
      return 'set DATA_DIR to a directory on a file system with hard links'
    default:
      return 'set DATA_DIR to a directory that this user can write'
  }
}

const takeLock = (dir: string, file: string): void => {
  // Other users may enter the directory but not list it: if root starts PostgreSQL, the server runs
  // as another user.
  mkdirSync(dir, { recursive: true, mode: 0o711 })
  refuseForeignDirectory(dir)
  const draft = `${file}.${process.pid}`
  rmSync(draft, { force: true })
  writePidFile(draft, process.pid)
  try {
    while (!tryLink(draft, file)) removeStale(file, dir)
  } finally {
    rmSync(draft, { force: true })
  }
}

/** A link appears whole or not at all, so a lock never lacks its owner. */
const tryLink = (draft: string, file: string): boolean => {
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
  if (owner !== undefined && processIdentity(owner.pid) === owner.identity)
    throw new Error(`${dir} is in use by process ${owner.pid}: stop that process, or set DATA_DIR to another directory`)
  const aside = `${file}.stale.${process.pid}`
  try {
    renameSync(file, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  // Another start may have taken over the lock before the rename. Then the moved file is a live
  // lock and goes back.
  const moved = readPidFile(aside)
  if (moved !== undefined && processIdentity(moved.pid) === moved.identity) tryLink(aside, file)
  rmSync(aside, { force: true })
}
