import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { before, describe } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { itWhere, missingProgram } from '../support/where.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const MIGRATE = 'cli/migrate-command.ts'

/**
 * A checkout with `.env` files. A command that read one of them would report an invalid DATABASE_URL.
 */
describe('the settings in a file .env are no settings of', () => {
  const folder = temporaryDirectory()
  before(() => {
    const entries = readdirSync(root).filter((name) => !name.startsWith('.'))
    for (const name of entries) symlinkSync(join(root, name), join(folder, name))
    for (const name of ['.env', '.env.local', '.env.production']) {
      writeFileSync(join(folder, name), 'DATABASE_URL=nowhere\nHASH_KEY=no key\n')
    }
  })

  const run = ([program, ...words]: readonly [string, ...string[]]) =>
    spawnSync(program, words, {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], NODE_ENV: 'production' },
    })

  const commands: readonly (readonly [string, ...string[]])[] = [
    ['npm', 'run', '--silent', 'migrate'],
    ['node_modules/.bin/bun', 'run', '--silent', 'migrate'],
    ['node_modules/.bin/bun', MIGRATE],
    ['node_modules/.bin/deno', 'run', '--allow-all', '--no-check', MIGRATE],
  ]
  for (const command of commands) {
    itWhere(command.join(' '), command[0] === 'npm' ? missingProgram('npm') : undefined, () => {
      assert.match(run(command).stderr, /^No service runs here: /m)
    })
  }
})
