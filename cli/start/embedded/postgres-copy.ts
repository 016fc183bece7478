import { spawnSync } from 'node:child_process'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { binariesIn, type PostgresBinaries } from './postgres-binaries.ts'

const CACHE = '/var/cache/feedback-insights'
const COPY = 'umask 022 && mkdir -p "$2" && cp -R "$0" "$1" && chmod -R a+rX "$1"'

/**
 * A copy of the programs that every user can run, made once for each version. Root needs it if
 * `node_modules` is in a private home, since PostgreSQL opens its own files by their full path.
 * Undefined if the copy fails.
 */
export const copyForAll = (binaries: PostgresBinaries, cache = CACHE): PostgresBinaries | undefined => {
  const copy = join(cache, `postgresql-${binaries.version}`)
  if (!existsSync(copy)) {
    const draft = `${copy}.${process.pid}`
    try {
      if (spawnSync('sh', ['-c', COPY, binaries.root, draft, cache], { stdio: 'ignore' }).status !== 0) return undefined
      renameSync(draft, copy)
    } catch (error) {
      // Another start made the copy meanwhile.
      if (!existsSync(copy)) throw error
    } finally {
      rmSync(draft, { recursive: true, force: true })
    }
  }
  return binariesIn(copy, binaries.version)
}
