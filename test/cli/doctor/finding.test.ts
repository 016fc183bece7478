import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  checkApi,
  checkRuntime,
  checkWorkerPort,
  NOT_READY,
  withoutConsequences,
} from '../../../cli/doctor/check-machine.ts'
import { judgeClock, well, wrong } from '../../../cli/doctor/finding.ts'

/** An address for documentation (RFC 5737). This machine does not have it. */
const FOREIGN_HOST = '192.0.2.1'
const PORT = 39_911

describe('findings', () => {
  it('about clocks allow for the time of the answer', () => {
    const at = (serverMs: number, took: number) => judgeClock('Redis', { serverMs, askedMs: 0, answeredMs: took })
    assert.equal(at(900, 0).level, 'well')
    assert.equal(at(1_500, 0).level, 'attention')
    assert.equal(at(1_500, 2_000).level, 'well')
    assert.equal(at(-90_000, 10).level, 'trouble')
    assert.match(at(-90_000, 10).what, /90005 ms behind/)
  })

  it('leave out an API that is not ready because of a server, and nothing else', () => {
    const notReady = wrong('The API at x is not ready.', NOT_READY)
    const [disk, full] = [wrong('0 MiB are free in DATA_DIR.', 'x'), wrong('Redis refuses all writes.', 'x')]
    assert.deepEqual(withoutConsequences([disk, notReady, full]), [disk, full])
    assert.deepEqual(withoutConsequences([disk, notReady, well('Redis 7 answers.')]).length, 3)
  })

  it('about the runtime compare versions as numbers', () => {
    assert.equal(checkRuntime({ bun: '1.4.5' }, { bun: '1.10.0' }).level, 'well')
    assert.equal(checkRuntime({ bun: '1.4.5' }, { bun: '1.4.4' }).level, 'attention')
    assert.equal(checkRuntime({ deno: '2.9.6' }, { deno: '2.9.6' }).level, 'well')
    assert.equal(checkRuntime({}, { node: '24.0.0' }).level, 'trouble')
  })

  it('about ports say that this user cannot listen at the port', async () => {
    const api = await checkApi({ url: undefined, host: FOREIGN_HOST, port: PORT })
    assert.deepEqual([api.level, /this user cannot listen there/.test(api.what)], ['trouble', true])
    const worker = await checkWorkerPort(FOREIGN_HOST, PORT)
    assert.deepEqual([worker.level, worker.what.includes('cannot listen on WORKER_PORT 39911')], ['trouble', true])
  })
})
