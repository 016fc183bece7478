import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { makeAttackers } from '../support/attackers.ts'
import { startBystander } from '../support/bystander.ts'
import { type Service, startService } from '../support/service.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
/** In all; each of them sends one body after the other. */
const CONNECTIONS = LONG ? 200 : 60
const SECONDS = LONG ? 30 : 4
const LOOK_EVERY_MS = 20
const MOST_MEMORY_BYTES = 600_000_000
const PATIENCE_MS = 120_000

const ATTACKS: readonly (readonly string[])[] = [
  ['conversations of ten thousand messages'],
  ['conversations of ten thousand contacts'],
  ...(LONG ? [['contacts as large as a body may be']] : []),
  [
    'conversations of ten thousand messages',
    'conversations of ten thousand contacts',
    'contacts as large as a body may be',
  ],
]

describe('bodies as large as they may be, as many as can be sent at once', () => {
  for (const attacks of ATTACKS) {
    it(`take a bounded memory, and all others are served: ${attacks.join('; ')}`, async () => {
      const service = await startService({ workers: 1 })
      try {
        await areHarmless(service, attacks)
      } finally {
        await service.stop()
      }
    })
  }
})

const areHarmless = async (service: Service, attacks: readonly string[]): Promise<void> => {
  const bystander = startBystander(service, PATIENCE_MS)
  const attackers = await makeAttackers(service, attacks)
  await pause(LOOK_EVERY_MS * 50)
  const idleBytes = memoryOf(service)
  const watch = watchApi(service)
  const reports = await attackers.send({
    connections: Math.ceil(CONNECTIONS / attacks.length),
    seconds: SECONDS,
    most: Number.MAX_SAFE_INTEGER,
    mostBytes: Number.MAX_SAFE_INTEGER,
  })
  const { slowestMs, mostBytes } = await watch.stop()
  const waits = await bystander.stop()
  const grownBytes = mostBytes - idleBytes
  const refused = reports.map((report) => report.refused)
  console.log(
    `${(grownBytes / 1e6).toFixed(0)} MB more, /healthz after ${slowestMs.toFixed(0)} ms at the slowest; the feedback of another ` +
      `was accepted after ${waits.slowestAccepted} ms at the slowest; accepted ${reports.map((report) => report.accepted).join(', ')}; refused ${JSON.stringify(refused)}`,
  )
  assert.deepEqual(
    {
      memory: grownBytes <= MOST_MEMORY_BYTES || grownBytes,
      failed: waits.failed,
      otherAnswers: refused.flatMap((one) => Object.keys(one).filter((status) => status !== '429' && status !== '503')),
    },
    { memory: true, failed: [], otherAnswers: [] },
  )
}

const memoryOf = ({ apiPids }: Service): number =>
  1_024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${apiPids[0]}/status`, 'utf8'))![1])

/** Looks at the memory of an API process, and asks whether it is alive, again and again. */
const watchApi = (service: Service) => {
  const stopped = new AbortController()
  const seen = { slowestMs: 0, mostBytes: 0 }
  const looking = (async () => {
    while (!stopped.signal.aborted) {
      const askedAt = performance.now()
      const answer = await service.request('/healthz', undefined, { method: 'GET', token: null })
      assert.equal(answer.status, 200)
      seen.slowestMs = Math.max(seen.slowestMs, performance.now() - askedAt)
      seen.mostBytes = Math.max(seen.mostBytes, memoryOf(service))
      await pause(LOOK_EVERY_MS)
    }
  })()
  return {
    stop: async () => {
      stopped.abort()
      await looking
      return seen
    },
  }
}
