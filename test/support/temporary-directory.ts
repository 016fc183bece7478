import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { until } from './until.ts'

/** A directory for the calling test, removed after all tests of its group. */
export const temporaryDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'feedback-insights-test-'))
  after(() => until('the directory is gone', () => Promise.resolve(isRemoved(directory))))
  return directory
}

/**
 * Retries, since orphans of a killed server may still write there, and Deno does not retry by
 * itself.
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
