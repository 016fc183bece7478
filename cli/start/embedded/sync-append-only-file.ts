import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../../../runtime/fault.ts'

const SYNC_EVERY_MS = 1_000

/**
 * Syncs the append-only file of a Redis in `dataDir` once a second, and returns a function that ends
 * this. Redis could do it itself (`appendfsync everysec`). But while such a sync takes long, Redis
 * answers before it has written, for up to two seconds, and a Redis that is killed then has lost
 * what it confirmed. With `appendfsync no` it writes before each answer.
 */
export const syncEachSecond = (dataDir: string, log: (line: string) => void): (() => void) => {
  let lastFault = ''
  let isSyncing = false
  const timer = setInterval(() => {
    if (isSyncing) return
    isSyncing = true
    void syncAppendOnlyFile(dataDir)
      .then(() => '', String)
      .then((fault) => {
        if (fault && fault !== lastFault) log(`The append-only file of Redis cannot be synced: ${fault}`)
        lastFault = fault
        isSyncing = false
      })
  }, SYNC_EVERY_MS)
  return () => clearInterval(timer)
}

/** Redis keeps the file in several parts, and replaces them when it rewrites the file. */
const syncAppendOnlyFile = async (dataDir: string): Promise<void> => {
  for (const name of await readdir(dataDir, { recursive: true })) {
    if (name.endsWith('.aof')) await syncFile(join(dataDir, name))
  }
}

const syncFile = async (path: string): Promise<void> => {
  const file = await open(path, 'r').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  try {
    await file?.datasync()
  } finally {
    await file?.close()
  }
}
