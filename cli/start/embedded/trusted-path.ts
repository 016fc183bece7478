import { lstatSync, statSync } from 'node:fs'
import process from 'node:process'

const WRITABLE_BY_OTHERS = 0o022
const ROOT = 0

const REMEDY = 'Set DATA_DIR to a directory that you have made yourself.'

/**
 * Throws if a directory belongs to a user other than this one and root, or if other users can write
 * to it. They could know or replace the tokens, keys and passwords in the directory.
 */
export const refuseForeignDirectory = (path: string): void => {
  const own = process.getuid?.()
  if (own === undefined) return
  const { uid, mode } = statSync(path)
  if ([uid, lstatSync(path).uid].some((owner) => owner !== own && owner !== ROOT))
    throw new Error(`${path} belongs to another user, who could know its secrets. ${REMEDY}`)
  refuseWritable(path, mode)
}

/** Throws if a file of secrets is a link, or if its mode lets other users write to it. */
export const refuseForeignFile = (path: string): void => {
  const file = lstatSync(path)
  if (!file.isFile()) throw new Error(`${path} is not a regular file. ${REMEDY}`)
  if (process.getuid !== undefined) refuseWritable(path, file.mode)
}

const refuseWritable = (path: string, mode: number): void => {
  if ((mode & WRITABLE_BY_OTHERS) !== 0)
    throw new Error(
      `Other users can write to ${path}. If no other user has written to it, run chmod go-w on it. Otherwise: ${REMEDY}`,
    )
}
