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

/**
 * Starts something of several parts, with a directory of its own. The parts end in reverse order,
 * also if one of them does not start.
 */
export const startParts = async <T extends object>(
  name: string,
  start: (running: AsyncDisposableStack, directory: string) => Promise<T>,
  parent = tmpdir(),
): Promise<T & { readonly stop: () => Promise<void> }> => {
  const directory = mkdtempSync(join(parent, `feedback-insights-${name}-`))
  const running = new AsyncDisposableStack()
  running.defer(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
  try {
    return { ...(await start(running, directory)), stop: () => running.disposeAsync() }
  } catch (error) {
    await running.disposeAsync()
    throw error
  }
}
