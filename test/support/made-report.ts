import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Service } from './service.ts'
import { runCommand } from './command.ts'

/** The page of `npm run report` about a year, written to `out`, without the times of its making. */
export const madeReport = async (
  asked: Pick<Service, 'environment'>,
  out: string,
  ...words: readonly string[]
): Promise<string> => {
  const period = ['--since', '2026-01-01', '--until', '2026-12-31']
  const { code, stderr } = await runCommand(asked, 'cli/report/report-command.ts', '--out', out, ...period, ...words)
  assert.deepEqual([code, stderr], [0, ''])
  return readFileSync(out, 'utf8').replaceAll(/\d\d:\d\d(:\d\d)?/g, '')
}
