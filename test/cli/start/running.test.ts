import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { createRunning } from '../../../cli/start/running.ts'

describe('the processes of a start', () => {
  it('are all killed at once, even if a process has ended before', async () => {
    const running = createRunning()
    const children = Array.from({ length: 3 }, () => spawn('sleep', ['10']))
    const signals = children.map(async (child) => ((await once(child, 'exit')) as unknown[])[1])
    const pidOf = (at: number) => () => children[at]!.pid
    const stop = (): void => assert.fail('a kill must not wait for a stop')
    running.add(stop, [pidOf(0)])
    const { pid: endedPid } = spawnSync('true')
    running.add(stop, [() => undefined, () => endedPid, pidOf(1), pidOf(2)])
    running.killAll()
    assert.deepEqual(await Promise.all(signals), ['SIGKILL', 'SIGKILL', 'SIGKILL'])
  })
})
