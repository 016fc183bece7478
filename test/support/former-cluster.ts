import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { postgresBinaries } from '../../cli/start/embedded/postgres-binaries.ts'

const NOBODY = 65_534

/**
 * A data directory as `npm start` left it while the printed user was the superuser, with what these statements made. For root,
 * PostgreSQL ran in a user namespace, where root has another name; its files were root's.
 */
export const formerCluster = (dataDir: string, password: string, statements: readonly string[]): void => {
  const { initdb, postgres } = postgresBinaries()
  const cluster = join(dataDir, 'cluster')
  const asOther = process.getuid?.() === 0 ? ['unshare', '--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`] : []
  const run = (command: readonly string[], input = ''): void => {
    const [program = '', ...args] = [...asOther, ...command]
    const { status, stdout, stderr } = spawnSync(program, args, { input, encoding: 'utf8', cwd: '/' })
    assert.equal(status, 0, stderr)
    assert.doesNotMatch(stdout + stderr, /ERROR|FATAL/)
  }
  const ask = (database: string, lines: readonly string[]): void =>
    run([postgres, '--single', '-D', cluster, '-c', 'log_min_messages=error', database], `${lines.join('\n')}\n`)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  writeFileSync(join(dataDir, 'password'), `${password}\n`, { mode: 0o600 })
  run([initdb, `--pgdata=${cluster}`, '--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C'])
  ask('postgres', [`alter role postgres password '${password}'`, 'create database feedback_insights'])
  ask('feedback_insights', statements)
}
