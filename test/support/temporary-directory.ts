import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { until } from './until.ts'

/** A new directory, which is removed after all tests of the calling group. */
export const temporaryDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'feedback-insights-test-'))
  after(() => until('the directory is gone', () => Promise.resolve(tryToRemove(directory))))
  return directory
}

/** Returns false while a process of a killed server still writes into the directory. */
const tryToRemove = (directory: string): boolean => {
  try {
    rmSync(directory, { recursive: true, force: true })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTEMPTY') return false
    throw error
  }
}

/**
 * Starts several parts with a directory of their own. `stop` ends them in reverse order. If one
 * does not start, the parts before it end.
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
