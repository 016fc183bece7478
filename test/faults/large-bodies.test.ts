import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { makeAttackers, startBystander } from '../support/attackers.ts'
import { type Service, startService } from '../support/service.ts'
import { describeWhere } from '../support/where.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
/** The least number of clients. Each sends one body after the other. */
const CONNECTIONS = LONG ? 200 : 40
const SECONDS = LONG ? 30 : 3
const LOOK_EVERY_MS = 20
/** docs/environment.md says this of APP_MEMORY. */
const MOST_GROWN_BYTES = 600_000_000
/** JSON, in which an attacker gets its bounds, has no Infinity. */
const NO_BOUND = 1e12

const LARGEST = ['messages of long URLs', 'contacts of long members', 'properties of a contact, long strings']

const MISSING = existsSync('/proc/self/status') ? undefined : 'there is no /proc'

describeWhere('the largest bodies, as many as clients can send at once,', MISSING, () => {
  for (const attacks of [LARGEST, ...(LONG ? LARGEST.map((one) => [one]) : [])]) {
    it(`take a bounded memory, and other clients are served: ${attacks.join('; ')}`, async () => {
      const service = await startService()
      try {
        await assertBounded(service, attacks)
      } finally {
        await service.stop()
      }
    })
  }
})

const assertBounded = async (service: Service, attacks: readonly string[]): Promise<void> => {
  await service.submit('/feedbacks', { description: 'before' })
  const idleBytes = memoryOf(service)
  const bystander = startBystander(service)
  const attackers = await makeAttackers(service, attacks)
  const over = new AbortController()
  let peakBytes = 0
  const watching = (async () => {
    while (!over.signal.aborted) {
      const alive = await service.get('/healthz', { token: null })
      assert.equal(alive.status, 200)
      peakBytes = Math.max(peakBytes, memoryOf(service))
      await pause(LOOK_EVERY_MS)
    }
  })()
  const connections = Math.ceil(CONNECTIONS / attacks.length)
  const bounds = { connections, seconds: SECONDS, most: NO_BOUND, mostBytes: NO_BOUND }
  const reports = await attackers.send(bounds).finally(() => over.abort())
  await watching
  await bystander.stop()
  const grownBytes = peakBytes - idleBytes
  const accepted = reports.map((report) => report.accepted)
  console.log(
    `${(grownBytes / 1e6).toFixed(0)} MB more; accepted ${accepted.join(', ')}; ${bystander.served()} of others`,
  )
  assert.ok(grownBytes <= MOST_GROWN_BYTES, `${grownBytes} bytes more`)
  assert.ok(bystander.served() > 0)
  assert.deepEqual(bystander.failed, [])
  const otherAnswers = reports.flatMap(({ refused }) =>
    Object.keys(refused).filter((status) => status !== '429' && status !== '503'),
  )
  assert.deepEqual(otherAnswers, [])
}

const memoryOf = ({ apiPids }: Service): number =>
  1_024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${apiPids[0]}/status`, 'utf8'))![1])
