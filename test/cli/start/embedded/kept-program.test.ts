import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { runProgram } from '../../../../cli/start/embedded/kept-program.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin' }

describe('a program that is kept', () => {
  const directory = temporaryDirectory()
  const run = (name: string, script: string, say: (line: string) => void) =>
    runProgram({
      name,
      command: ['sh', '-c', script],
      env: ENVIRONMENT,
      logFile: join(directory, `${name}.log`),
      pidFile: join(directory, `${name}.pid`),
      say,
    })

  it('is not started again if it ends before `keep`', async () => {
    const program = run('early', 'echo it broke >&2; exit 3', () => {})
    assert.equal(await program.earlyEnd, `early ended with 3; its log: ${join(directory, 'early.log')}`)
    await program.stop()
    assert.equal(readFileSync(join(directory, 'early.log'), 'utf8'), 'it broke\n')
  })

  it('is started again if it ends later', async () => {
    const file = join(directory, 'turn')
    const { promise: secondTurn, resolve } = Promise.withResolvers<void>()
    const shown: string[] = []
    const program = run('later', `echo x >>'${file}'; wc -l <'${file}' | tr -d ' '; exec sleep 60`, (line) => {
      shown.push(line)
      if (line === '[later] 1') process.kill(program.pid() ?? 0, 'SIGKILL')
      if (line === '[later] 2') resolve()
    })
    program.keep()
    await secondTurn
    await program.stop()
    assert.deepEqual(shown, ['[later] 1', 'later ended with SIGKILL; it is started again in 0.5 s', '[later] 2'])
    assert.equal(program.pid(), undefined)
  })

  it('shows the operator its warnings, errors and crashes, and logs all lines', async () => {
    const lines = [
      '{"level":"info","event":"a"}',
      '{"level":"warn","event":"b"}',
      '{"level":"error","event":"c"}',
      'crash',
    ]
    const shown: string[] = []
    const program = run('talks', `printf '%s\\n' ${lines.map((line) => `'${line}'`).join(' ')}`, (line) =>
      shown.push(line),
    )
    await program.earlyEnd
    await program.stop()
    assert.deepEqual(shown, [`[talks] ${lines[1]}`, `[talks] ${lines[2]}`, '[talks] crash'])
    assert.equal(readFileSync(join(directory, 'talks.log'), 'utf8'), `${lines.join('\n')}\n`)
  })
})
