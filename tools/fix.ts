import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { printHelp } from '../runtime/print-help.ts'
import { SOURCES } from './source-files.ts'

printHelp(`usage: npm run fix
Mends faults that the linter can mend, and formats all files.`)
const root = fileURLToPath(new URL('..', import.meta.url))
const run = (tool: string, ...words: readonly string[]): number | null =>
  spawnSync(join(root, 'node_modules', '.bin', tool), words, { cwd: root, stdio: 'inherit' }).status
const linted = run('oxlint', '--type-aware', '--fix', ...SOURCES)
const formatted = run('prettier', '--write', '--log-level', 'warn', '.')
process.exitCode = linted === 0 && formatted === 0 ? 0 : 1
