import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { printHelp } from '../runtime/print-help.ts'
import { findEnvironmentAccess } from './environment-access.ts'
import { findImportViolations } from './import-rule.ts'
import { findReadmeFaults, foldersOf } from './room-readmes.ts'
import { findVagueWords } from './plain-words.ts'
import { findLargeRooms } from './room-size.ts'
import { readSourceFiles, SOURCES } from './source-files.ts'
import { findLongSql } from './sql-size.ts'
import { readTrackedFiles } from './tracked-files.ts'
import { findDoubleTypeNames } from './type-names.ts'
import { findUnportableText } from './unportable-text.ts'

type CheckOutcome =
  | { readonly kind: 'passed' }
  | { readonly kind: 'unknown'; readonly reason: string }
  | { readonly kind: 'failed'; readonly output: string }

type AuditReport = { vulnerabilities?: Record<string, { severity: string }> } | null

const AUDIT_TIMEOUT_MS = 60_000
const SEVERE = ['high', 'critical']

const root = fileURLToPath(new URL('..', import.meta.url))

/** A missing report is no finding: npm may have no network, or a registry without audits. */
const auditDependencies = (): CheckOutcome => {
  const options = ['audit', '--omit=dev', '--json']
  const { stdout, error } = spawnSync('npm', options, { cwd: root, encoding: 'utf8', timeout: AUDIT_TIMEOUT_MS })
  if (error) return { kind: 'unknown', reason: 'npm is missing or too slow' }
  const vulnerabilities = (parsed(stdout) as AuditReport | undefined)?.vulnerabilities
  if (!vulnerabilities) return { kind: 'unknown', reason: 'npm gave no report of the registry' }
  const severe = Object.keys(vulnerabilities).filter((name) => SEVERE.includes(vulnerabilities[name]!.severity))
  return fromFindings(severe)
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const CHECKS: Readonly<Record<string, () => CheckOutcome>> = {
  format: () => runTool('prettier', ['--check', '--log-level', 'warn', '.']),
  lint: () => runTool('oxlint', ['--type-aware', '--report-unused-disable-directives', ...SOURCES]),
  'types (TypeScript)': () => runTool('typescript', ['--project', 'tsconfig.json'], 'tsc'),
  'types (Deno)': () => runTool('deno', ['check', '--quiet', ...SOURCES]),
  'files fit any machine': () => fromFindings(findUnportableText(readTrackedFiles(root))),
  'reads of the environment': () => fromFindings(findEnvironmentAccess(readSourceFiles(root))),
  'imports between rooms': () => fromFindings(findImportViolations(readSourceFiles(root))),
  'names of types': () => fromFindings(findDoubleTypeNames(readSourceFiles(root))),
  'READMEs of the rooms': () => fromFindings(findReadmeFaults(foldersOf(readTrackedFiles(root)))),
  'size of the rooms': () => fromFindings(findLargeRooms(readSourceFiles(root))),
  'long SQL': () => fromFindings(findLongSql(readTrackedFiles(root))),
  'vague words': () => fromFindings(findVagueWords(readTrackedFiles(root))),
  'known vulnerabilities of dependencies': auditDependencies,
}

// All checks run, so that one run shows all faults.
const main = (): void => {
  const failures: string[] = []
  for (const [name, check] of Object.entries(CHECKS)) {
    const started = performance.now()
    const outcome = attempt(check)
    console.log(`${describe(outcome)} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`)
    if (outcome.kind === 'failed') failures.push(`\n── ${name}\n${outcome.output}`)
  }
  console.log(failures.join('\n'))
  console.log(failures.length === 0 ? 'No check failed.' : `Checks that failed: ${failures.length}`)
  process.exitCode = failures.length === 0 ? 0 : 1
}

const attempt = (check: () => CheckOutcome): CheckOutcome => {
  try {
    return check()
  } catch (error) {
    return { kind: 'failed', output: error instanceof Error ? error.message : String(error) }
  }
}

const describe = (outcome: CheckOutcome): string => {
  switch (outcome.kind) {
    case 'passed':
      return 'passed '
    case 'unknown':
      return `unknown (${outcome.reason})`
    case 'failed':
      return 'FAILED '
  }
}

/** Runs the program of an installed package on the current runtime, since `node` may be missing. */
const runTool = (name: string, options: readonly string[], program = name): CheckOutcome => {
  const folder = join(root, 'node_modules', name)
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = join(folder, typeof bin === 'string' ? bin : bin[program])
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [file, ...options], {
    cwd: root,
    encoding: 'utf8',
  })
  return status === 0 ? { kind: 'passed' } : { kind: 'failed', output: `${stdout}${stderr}${error?.message ?? ''}` }
}

const fromFindings = (findings: readonly string[]): CheckOutcome => {
  return findings.length === 0 ? { kind: 'passed' } : { kind: 'failed', output: findings.join('\n') }
}

printHelp(`usage: npm run check
Checks format, lint, types, the rules of this repository, and known vulnerabilities of its dependencies.
It changes nothing; npm run fix mends simple faults.`)
main()
