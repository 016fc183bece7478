import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { until } from './until.ts'

/** A directory of the calling test's own; removed when all tests around it are done. */
export const temporaryDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'feedback-insights-test-'))
  after(() => until('the directory is gone', () => Promise.resolve(isRemoved(directory))))
  return directory
}

/**
 * Not at once when what a killed server has left is still writing there, and Deno does not try
 * again by itself.
 */
const isRemoved = (directory: string): boolean => {
  try {
    rmSync(directory, { recursive: true, force: true })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTEMPTY') return false
    throw error
  }
}
