import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { keepRunning } from '../../../../cli/start/embedded/keep-running.ts'
import { programLog } from '../../../../cli/start/embedded/program-log.ts'
import { type StartedProcess, startProcess } from '../../../../cli/start/embedded/start-process.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'
import { until } from '../../../support/until.ts'

describe('a process that is kept running', () => {
  const directory = temporaryDirectory()
  const start = (script: string, take?: ReturnType<typeof programLog>['take']): Promise<StartedProcess> =>
    startProcess(['sh', '-c', script], {
      env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
      stdio: ['ignore', 'pipe', 'pipe'],
      pidFile: join(directory, 'pid'),
      stopSteps: [{ signal: 'SIGTERM', waitMs: 10_000 }],
      ...(take && { take }),
    })

  it('is started again when it ends, and again after a failed start, until it is stopped', async () => {
    const shown: string[] = []
    const pidsBetween: (number | undefined)[] = []
    const { promise: second, resolve: runsAgain } = Promise.withResolvers<StartedProcess>()
    const first = await start('exec sleep 60')
    const kept = keepRunning(first, {
      name: 'Sleep',
      say: (line) => shown.push(line),
      startAgain: async () => {
        pidsBetween.push(kept.pid())
        if (shown.length === 1) throw new Error('not yet')
        const again = await start('exec sleep 60')
        runsAgain(again)
        return again
      },
    })
    process.kill(first.pid, 'SIGKILL')
    const again = await second
    await until('the id of the second run', async () => kept.pid() === again.pid)
    await kept.stop()
    assert.deepEqual(pidsBetween, [undefined, undefined])
    assert.deepEqual(shown, [
      'Sleep is started again in 0.5 s: it ended with SIGKILL',
      'Sleep is started again in 1 s: not yet',
    ])
    assert.deepEqual([kept.pid(), await again.exited], [undefined, 'ended with SIGTERM'])
    assert.ok(!existsSync(join(directory, 'pid')), 'no file names an ended process')
  })

  it('shows the operator its warnings, errors and crashes, and logs all lines', async () => {
    const lines = [
      '{"level":"info","event":"a"}',
      '{"level":"warn","event":"b"}',
      '{"level":"error","event":"c"}',
      'crash',
    ]
    const shown: string[] = []
    const log = programLog(join(directory, 'talks.log'), (line) => shown.push(line))
    const talks = await start(`printf '%s\\n' ${lines.map((line) => `'${line}'`).join(' ')}; exit 3`, log.take)
    assert.equal(await talks.exited, 'ended with 3')
    await log.close()
    assert.deepEqual(shown, lines.slice(1))
    assert.equal(readFileSync(join(directory, 'talks.log'), 'utf8'), `${lines.join('\n')}\n`)
  })
})
