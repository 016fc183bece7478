import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type CommandResult, resultOf } from '../support/command.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }

/**
 * Runs a script with `--help` as npm does: in a shell, with the programs of the packages on the
 * PATH.
 */
const help = (script: string): Promise<CommandResult> => {
  const path = [join(root, 'node_modules', '.bin'), process.env['PATH']].join(delimiter)
  const environment = { HOME: process.env['HOME'], TMPDIR: process.env['TMPDIR'], PATH: path }
  const child = spawn('sh', ['-c', `${script} --help`], {
    cwd: root,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return resultOf(child)
}

/** Usages that do not begin with `npm run` and the name of their script. */
const OTHER_USAGE: Readonly<Record<string, string>> = { start: 'npm start', test: 'npm test', 'test:long': 'npm test' }

describe('--help', () => {
  for (const [name, script] of Object.entries(scripts)) {
    it(`of npm run ${name} explains its use on stdout, and ends with 0`, async () => {
      const { code, stdout, stderr } = await help(script)
      assert.deepEqual([code, stderr], [0, ''])
      const [usage = '', ...rest] = stdout.trimEnd().split('\n')
      const expected = OTHER_USAGE[name] ?? `npm run ${name}`
      assert.ok(usage.replace(' --silent', '').startsWith(`usage: ${expected}`), usage)
      assert.ok(rest.length > 0, 'the help explains the command')
    })
  }
})
