import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import { programLog } from '../../../../cli/start/embedded/program-log.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'
import { until } from '../../../support/until.ts'

describe('the log of a program', () => {
  const folder = temporaryDirectory()

  it('has all lines; those for the operator are passed on', async () => {
    const file = join(folder, 'api.log')
    const passed: string[] = []
    const log = programLog(file, (line) => void passed.push(line))
    const output = new PassThrough()
    log.take(output)
    output.end('{"level":"info","event":"listening"}\n{"level":"warn","event":"late"}\n')
    await until('the line is passed on', () => Promise.resolve(passed.length === 1))
    await log.close()
    assert.deepEqual(passed, ['{"level":"warn","event":"late"}'])
    assert.equal(readFileSync(file, 'utf8').split('\n').length, 3)
  })

  it('that cannot be written is said once, and ends no process', async () => {
    const file = join(folder, 'worker.log')
    const passed: string[] = []
    const log = programLog(file, (line) => void passed.push(line))
    // A folder cannot be written, like a file on a full disk.
    mkdirSync(file)
    const output = new PassThrough()
    log.take(output)
    output.write('{"level":"info","event":"one"}\n')
    await until('the fault is said', () => Promise.resolve(passed.length === 1))
    output.end('{"level":"info","event":"two"}\n{"level":"error","event":"three"}\n')
    await until('the next line is passed on', () => Promise.resolve(passed.length === 2))
    await log.close()
    assert.match(passed[0]!, /worker\.log cannot be written \(\w+ EISDIR\): lines are lost until it can be\.$/)
    rmdirSync(file)
  })
})
