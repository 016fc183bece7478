import { lstatSync, statSync } from 'node:fs'
import process from 'node:process'

const WRITABLE_BY_OTHERS = 0o022
/** Root can do anything in any case. */
const ROOT = 0

/**
 * Throws where another user can have prepared a directory or a file of secrets, or can still change
 * it: its tokens, key and passwords could be theirs, and a symbolic link would take ours elsewhere.
 */
export const refuseForeignPath = (path: string, kind: 'directory' | 'file'): void => {
  const own = process.getuid?.()
  const linked = lstatSync(path, { throwIfNoEntry: false })
  if (own === undefined || linked === undefined) return
  const { uid, mode } = kind === 'file' ? linked : statSync(path)
  if ([uid, linked.uid].some((owner) => owner !== own && owner !== ROOT))
    throw new Error(`${path} belongs to another user, whose secrets it may hold. ${REMEDY}`)
  if (kind === 'file' && !linked.isFile()) throw new Error(`${path} is no regular file. ${REMEDY}`)
  if ((mode & WRITABLE_BY_OTHERS) !== 0)
    throw new Error(`Other users can write to ${path}. Run chmod go-w on it if nobody else has, or: ${REMEDY}`)
}

const REMEDY = 'Set DATA_DIR to a directory that you have made yourself.'
