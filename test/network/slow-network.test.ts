import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import process from 'node:process'
import { type Between, standBetween } from '../support/between.ts'
import { startLoad } from '../support/load.ts'
import { assertNothingLost, assertWellAnswered, recovery } from '../support/recovery.ts'
import { testServers } from '../support/servers.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const SUBMISSIONS = process.env['TEST_SIZE'] === 'long' ? 600 : 50
/** Each way, so that a round trip takes 100. */
const EACH_WAY_MS = 50
/** One piece in a hundred is lost, which TCP sends again after this long, and what comes behind it waits. */
const LOST_EACH = 100
const SENT_AGAIN_AFTER_MS = 200

let pieces = 0
const delayMs = (): number => EACH_WAY_MS + (++pieces % LOST_EACH === 0 ? SENT_AGAIN_AFTER_MS : 0)

describe('a service to which Redis and Postgres are 100 ms away, and one piece in a hundred is lost on the way', () => {
  let service: Service
  const links: Between[] = []
  before(async () => {
    const { databaseUrl, redisUrl } = testServers()
    for (const url of [databaseUrl, redisUrl]) links.push(await standBetween(url, { delayMs }))
    const [database, redis] = links
    const environment = { CONVERSATIONS_PER_MINUTE: '1000000' }
    service = await startService({ databaseUrl: database!.url, redisUrl: redis!.url, environment })
  })
  after(async () => {
    await service?.stop()
    for (const link of links) link.stop()
  })

  it('answers in time, loses nothing and stores nothing twice', async () => {
    const asked = { ...service, url: service.urls[0]!, prefix: service.redisPrefix }
    const load = startLoad(asked)
    const startedAt = performance.now()
    await until('all are accepted', () => Promise.resolve(load.seen.accepted.size >= SUBMISSIONS), 120_000)
    const tookMs = performance.now() - startedAt
    await load.stop()
    const ms = await recovery(asked, load.seen)
    const { accepted, refused, unknown, slowestMs } = load.seen
    console.log(
      `${accepted.size} confirmed in ${Math.round(tookMs)} ms, ${refused} refused, ${unknown} unknown, slowest ${Math.round(slowestMs)} ms; ` +
        `all applied ${Math.round(ms)} ms after the last`,
    )
    assertWellAnswered(load.seen)
    assert.equal(refused + unknown, 0)
    await assertNothingLost(asked, load.seen)
  })
})
