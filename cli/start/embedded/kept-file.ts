import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import process from 'node:process'

/** The content of a private file (mode 0600); the first call makes it. Two callers at once get the same content. */
export const keptFile = (file: string, make: () => string): string => {
  const kept = readIfThere(file)
  if (kept !== undefined) return kept
  // Written beside and linked into place, so that nobody ever reads half of it.
  const draft = `${file}.${process.pid}`
  rmSync(draft, { force: true })
  writeFileSync(draft, `${make()}\n`, { mode: 0o600, flag: 'wx', flush: true })
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
  return readFileSync(file, 'utf8').trimEnd()
}

export const readIfThere = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8').trimEnd()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
