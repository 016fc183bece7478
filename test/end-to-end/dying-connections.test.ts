import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { startLoad } from '../support/load.ts'
import { assertNothingLost, assertWellAnswered, recovery } from '../support/recovery.ts'
import { type SharedService, sharedService, WORKING_CONNECTIONS } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const KILLED = Number(process.env['KILLED_CONNECTIONS'] ?? (process.env['TEST_SIZE'] === 'long' ? 5_000 : 100))
const KILLED_WITHIN_MS = 10 * 60_000

describe('processes whose connections to Postgres are ended repeatedly', () => {
  let service: SharedService
  before(async () => {
    service = await sharedService()
  })
  after(() => service?.stop())

  it(`continue, and lose no submission, ${KILLED} times under load`, async () => {
    const { sql, redis, redisPrefix: prefix, queues, accessToken, urls, workerUrls } = service
    const stack = { sql, redis, prefix, accessToken, queues, url: urls[0]! }
    const load = startLoad(stack)
    let killed = 0
    await until(
      'enough have been ended',
      async () => {
        // Even new connections: a fault in the first statements of the driver must not end the
        // process either.
        const ended =
          await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${WORKING_CONNECTIONS}`
        killed += ended.count
        for (const one of [...urls, ...workerUrls]) assert.ok(await isAlive(one), service.output())
        return killed >= KILLED
      },
      KILLED_WITHIN_MS,
    )
    await load.stop()
    await recovery(stack, load.seen)
    await assertNothingLost(stack, load.seen)
    assertWellAnswered(load.seen)
    assert.equal(load.seen.unknown, 0, 'every request had an answer')
    assert.ok(load.seen.accepted.size > 20, String(load.seen.accepted.size))
    console.log(`${killed} connections ended, ${load.seen.accepted.size} submissions accepted and applied`)
  })
})

const isAlive = (url: string): Promise<boolean> =>
  fetch(`${url}/healthz`).then(
    async (answer) => (await answer.arrayBuffer(), answer.ok),
    () => false,
  )
