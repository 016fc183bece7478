import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { resultOf } from '../support/command.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }

/** Usages that do not begin with `npm run` and the name of their script. */
const OTHER_USAGE: Readonly<Record<string, string>> = { start: 'npm start', test: 'npm test', 'test:long': 'npm test' }
const INSTALL = 'sh cli/start/install.sh'
/** A script may install the packages first. It runs one program, which gets the arguments. */
const SCRIPT = /^(?:sh cli\/start\/install\.sh && )?(?:[A-Z_]+=\w+ )?(?:exec )?bun (\S+\.ts)$/

describe('--help', () => {
  const said: Record<string, { code: unknown; stdout: string; stderr: string }> = {}
  const run = async (command: string, ...words: string[]): Promise<string> => {
    const child = spawn(command, words, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    const { code, stdout, stderr } = await resultOf(child)
    assert.deepEqual([code, stderr], [0, ''])
    return stdout
  }
  before(async () => {
    const programs = Object.values(scripts).flatMap((script) => SCRIPT.exec(script)?.[1] ?? [])
    const helps = await run(process.execPath, 'test/support/help-main.ts', ...new Set(programs))
    Object.assign(said, JSON.parse(helps))
    said[INSTALL] = { code: 0, stdout: await run('sh', '-c', `${INSTALL} --help`), stderr: '' }
  })

  for (const [name, script] of Object.entries(scripts)) {
    it(`of npm run ${name} explains its use on stdout, and ends with 0`, () => {
      const { code, stdout, stderr } = said[SCRIPT.exec(script)?.[1] ?? script]!
      assert.deepEqual([code, stderr], [0, ''])
      const [usage = '', ...rest] = stdout.trimEnd().split('\n')
      const expected = OTHER_USAGE[name] ?? `npm run ${name}`
      assert.ok(usage.replace(' --silent', '').startsWith(`usage: ${expected}`), usage)
      assert.ok(rest.length > 0, 'the help explains the command')
    })
  }
})
