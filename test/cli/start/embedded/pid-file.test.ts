import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { writePidFile } from '../../../../cli/start/embedded/pid-file.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const MODULE = new URL('../../../../cli/start/embedded/pid-file.ts', import.meta.url).href
const GIVE_UP_MS = 20_000

describe('the end of a leftover process', () => {
  it('is given up after the last signal, and leaves no timer', async () => {
    const file = join(temporaryDirectory(), 'pid')
    const leftover = spawn('sh', ['-c', `trap '' TERM; echo ready; exec sleep 60`])
    await once(leftover.stdout, 'data')
    writePidFile(file, leftover.pid!)
    const script = `
      import { endLeftover } from ${JSON.stringify(MODULE)}
      await endLeftover(${JSON.stringify(file)}, [{ signal: 'SIGTERM', waitMs: 100 }]).catch((error) => console.log(error.message))`
    // The program ends by itself only when it has no timer left.
    const ended = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8', timeout: GIVE_UP_MS })
    leftover.kill('SIGKILL')
    assert.match(ended.stdout, /does not end, not even by SIGTERM/)
    assert.equal(ended.status, 0)
  })
})
