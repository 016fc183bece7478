import { lstatSync, statSync } from 'node:fs'
import process from 'node:process'

const WRITABLE_BY_OTHERS = 0o022
/** Root can do anything in any case. */
const ROOT = 0

const REMEDY = 'Set DATA_DIR to a directory that you have made yourself.'

/**
 * Throws where another user made a directory, or can still change it: the tokens, the key and the
 * passwords in it could be theirs.
 */
export const refuseForeignDirectory = (path: string): void => {
  const own = process.getuid?.()
  if (own === undefined) return
  const { uid, mode } = statSync(path)
  if ([uid, lstatSync(path).uid].some((owner) => owner !== own && owner !== ROOT))
    throw new Error(`${path} belongs to another user, whose secrets it may hold. ${REMEDY}`)
  refuseWritable(path, mode)
}

/** Throws where a file of secrets is a link, or can be changed by other users. */
export const refuseForeignFile = (path: string): void => {
  const file = lstatSync(path)
  if (!file.isFile()) throw new Error(`${path} is no regular file. ${REMEDY}`)
  if (process.getuid !== undefined) refuseWritable(path, file.mode)
}

const refuseWritable = (path: string, mode: number): void => {
  if ((mode & WRITABLE_BY_OTHERS) !== 0)
    throw new Error(
      `Other users can write to ${path}. If no other user has written to it, run chmod go-w on it. Otherwise: ${REMEDY}`,
    )
}
