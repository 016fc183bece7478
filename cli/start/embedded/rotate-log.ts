import { existsSync, renameSync } from 'node:fs'

/** Keeps the log of one start and of the one before it. */
export const rotateLog = (file: string): void => {
  if (existsSync(file)) renameSync(file, `${file}.1`)
}
