import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'

/** A directory of the calling test's own; removed when all tests around it are done. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'feedback-insights-test-'))
  after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
