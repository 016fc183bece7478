import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { lockDataDir } from '../../../../cli/start/embedded/data-dir-lock.ts'
import { writePidFile } from '../../../../cli/start/embedded/pid-file.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

describe('the lock of a data directory', () => {
  const parent = temporaryDirectory()

  it('makes the directory and disappears when it is released', () => {
    const dir = join(parent, 'new', 'released')
    const lock = lockDataDir(dir)
    assert.deepEqual(readdirSync(dir), ['lock'])
    lock.release()
    assert.deepEqual(readdirSync(dir), [])
  })

  it('refuses a directory in use, and names the process', () => {
    const dir = join(parent, 'in use')
    const lock = lockDataDir(dir)
    assert.throws(() => lockDataDir(dir), new RegExp(`in use by process ${process.pid}:`))
    lock.release()
    lockDataDir(dir).release()
  })

  it('is taken over from a process that was killed', async () => {
    const dir = join(parent, 'killed')
    lockDataDir(dir).release()
    const owner = spawn('sleep', ['60'])
    await once(owner, 'spawn')
    assert.ok(owner.pid)
    writePidFile(join(dir, 'lock'), owner.pid)
    assert.throws(() => lockDataDir(dir), new RegExp(`in use by process ${owner.pid}:`))
    owner.kill('SIGKILL')
    await once(owner, 'exit')
    lockDataDir(dir).release()
    assert.deepEqual(readdirSync(dir), [])
  })

  for (const [what, content] of [
    ['when another program has the id of its owner', `${process.ppid} started-long-ago\n`],
    ['when it cannot be read', ''],
  ] as const) {
    it(`is taken over ${what}`, () => {
      const dir = join(parent, what)
      lockDataDir(dir).release()
      writeFileSync(join(dir, 'lock'), content)
      lockDataDir(dir).release()
      assert.ok(!existsSync(join(dir, 'lock')))
    })
  }
})
