import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, it } from 'node:test'
import { listUndelivered, listWebhooks, setWebhookState } from '../../../db/webhooks.ts'
import { deliver } from '../../../worker/webhooks/deliver.ts'
import { createPlaces } from '../../../worker/webhooks/places.ts'
import { serveHttp } from '../../support/http-server.ts'
import { hashKey, makeWorkspaces, sharedSchema } from '../../support/schema.ts'
import { until } from '../../support/until.ts'

const { sql } = await sharedSchema()
const SLOW_MS = 200

type Sent = { type: string; id: string; position: number; messageId: string; status: number }
type Answer = { status: number; headers?: Record<string, string>; afterMs?: number }

/** A workspace with some categories as its feed, and a webhook from its beginning. */
const prepare = async (categories: number, answer: (message: Omit<Sent, 'status'>) => Answer) => {
  const [workspaceId, id] = [randomUUID(), randomUUID()]
  const ids = Array.from({ length: categories }, () => randomUUID())
  const sent: Sent[] = []
  const { url, stop } = await serveHttp(async (request, response, body) => {
    const { type, data } = JSON.parse(String(body)) as { type: string; data: { id: string; position: number } }
    const messageId = String(request.headers['webhook-id'])
    const message = { type, id: data.id, position: data.position, messageId }
    const { status, headers = {}, afterMs = 0 } = answer(message)
    await pause(afterMs)
    sent.push({ ...message, status })
    response.writeHead(status, headers).end()
  })
  await makeWorkspaces(sql, [workspaceId])
  await sql`
    insert into feedback_category (workspace_id, id, title, uses, change_position)
    select ${workspaceId}, id, id::text, 1, place from unnest(${ids}::uuid[]) with ordinality as t (id, place)`
  const reach = (last: number) =>
    sql`update workspace_progress set change_position = ${last} where workspace_id = ${workspaceId}`
  await reach(categories)
  await sql`
    insert into webhook (workspace_id, id, url, state, position) values (${workspaceId}, ${id}, ${url}, 'active', 0)`
  const signal = new AbortController().signal
  const places = createPlaces()
  return {
    ids,
    sent,
    stop,
    confirmed: () => sent.filter(({ status }) => status < 300),
    change: async (record: string, position: number): Promise<void> => {
      await sql`
        update feedback_category set change_position = ${position} where workspace_id = ${workspaceId} and id = ${record}`
      await reach(position)
    },
    remove: async (record: string, position: number): Promise<void> => {
      await sql`
        insert into tombstone (workspace_id, position, kind, record_id)
        values (${workspaceId}, ${position}, 'feedback_category', ${record})`
      await reach(position)
    },
    reach,
    deliver: () => deliver({ sql, hashKey, allowedHosts: ['127.0.0.1'], places, stop: signal }, { workspaceId, id }),
    status: async () => (await listWebhooks(sql)).find((webhook) => webhook.id === id)!,
    undelivered: async () => [...(await listUndelivered(sql, { workspaceId, id }, 1_000))],
    resume: () => setWebhookState(sql, id, { state: 'active' }),
  }
}

describe('a webhook', () => {
  it('gets the tombstone of a record before the change that stores it again', async () => {
    const feed = await prepare(1, ({ type }) => ({ status: 204, afterMs: type.endsWith('deleted') ? SLOW_MS : 0 }))
    await feed.change(feed.ids[0]!, 3)
    await feed.remove(feed.ids[0]!, 2)
    await feed.reach(3)
    assert.equal(await feed.deliver(), 2)
    feed.stop()
    assert.deepEqual(
      feed.sent.map(({ type }) => type),
      ['feedback_category.deleted', 'feedback_category.changed'],
    )
  })

  it('passes a record that its receiver refuses for good, and keeps it by kind and id', async () => {
    for (const status of [400, 413, 422]) {
      let refused = ''
      const feed = await prepare(40, ({ id }) => ({ status: id === refused ? status : 204 }))
      refused = feed.ids[3]!
      assert.equal(await feed.deliver(), 39)
      feed.stop()
      assert.equal(feed.sent.length, 40, 'each message was sent once')
      const { isBehind, undelivered, delivered } = await feed.status()
      assert.deepEqual([isBehind, undelivered, delivered], [false, 1, 39])
      const [{ failingSince: _, ...change } = {}, ...more] = await feed.undelivered()
      assert.deepEqual(more, [])
      assert.deepEqual(change, { kind: 'feedback_category', id: refused, isGivenUp: true, fault: `status ${status}` })
    }
  })

  it('sends a refused record again when it changes, or when an operator resumes the webhook', async () => {
    let refused: string[] = []
    const feed = await prepare(10, ({ id }) => ({ status: refused.includes(id) ? 413 : 204 }))
    refused = feed.ids.slice(2, 4)
    await feed.deliver()
    assert.equal((await feed.undelivered()).length, 2)
    refused = []
    assert.equal(await feed.deliver(), 0)
    await feed.change(feed.ids[2]!, 11)
    assert.equal(await feed.deliver(), 1)
    assert.deepEqual(
      (await feed.undelivered()).map(({ id }) => id),
      [feed.ids[3]],
    )
    await feed.resume()
    assert.equal(await feed.deliver(), 1)
    feed.stop()
    assert.deepEqual(await feed.undelivered(), [])
    assert.equal(feed.confirmed().length, 10)
  })

  it('goes on past a record that fails each time, and tries it again', async () => {
    let failing = ''
    const feed = await prepare(30, ({ id }) => ({ status: id === failing ? 500 : 204 }))
    failing = feed.ids[0]!
    assert.equal(await feed.deliver(), 29)
    const [{ isGivenUp, fault } = {}] = await feed.undelivered()
    assert.deepEqual([isGivenUp, fault], [false, 'status 500'])
    await until('the record is tried again', async () => {
      await feed.deliver()
      return feed.sent.filter(({ id }) => id === failing).length >= 3
    })
    await feed.change(feed.ids[1]!, 31)
    assert.equal(await feed.deliver(), 1, 'the failing record does not delay a new change')
    failing = ''
    await until('the record is delivered', async () => {
      await feed.deliver()
      return (await feed.undelivered()).length === 0
    })
    feed.stop()
    assert.equal(new Set(feed.confirmed().map(({ id }) => id)).size, 30)
  })

  it('gets each message once, late but not lost, from a receiver that fails now and then', async () => {
    let received = 0
    const feed = await prepare(300, () => ({ status: ++received % 4 === 0 ? 500 : 204 }))
    await until('all are delivered', async () => {
      await feed.deliver()
      return feed.confirmed().length >= 300
    })
    feed.stop()
    assert.equal(feed.confirmed().length, 300, 'no confirmed message is sent again')
    assert.equal(new Set(feed.confirmed().map(({ messageId }) => messageId)).size, 300)
    assert.equal((await feed.status()).delivered, 300)
  })

  it('does not get an older state of a record after a later one', async () => {
    let failing = ''
    const feed = await prepare(3, ({ id, position }) => ({ status: id === failing && position < 4 ? 500 : 204 }))
    failing = feed.ids[0]!
    await feed.deliver()
    await feed.change(failing, 4)
    await until('the later state is delivered', async () => {
      await feed.deliver()
      return feed.confirmed().some(({ position }) => position === 4)
    })
    assert.deepEqual(await feed.undelivered(), [])
    const before = feed.sent.length
    assert.equal(await feed.deliver(), 0)
    feed.stop()
    assert.equal(feed.sent.length, before)
  })

  it('does not get an undelivered change after the removal of its record', async () => {
    let failing = ''
    const feed = await prepare(3, ({ id, type }) => ({
      status: id === failing && type.endsWith('changed') ? 422 : 204,
    }))
    failing = feed.ids[1]!
    await feed.deliver()
    await sql`delete from feedback_category where id = ${failing}`
    await feed.remove(failing, 4)
    assert.equal(await feed.deliver(), 1)
    feed.stop()
    assert.equal(feed.confirmed().at(-1)?.type, 'feedback_category.deleted')
    assert.deepEqual(await feed.undelivered(), [])
  })

  it('sends little to a receiver that confirms nothing, and everything once it works', async () => {
    let isDown = true
    const feed = await prepare(200, () => ({ status: isDown ? 502 : 204 }))
    assert.equal(await feed.deliver(), 0)
    assert.ok(feed.sent.length < 20, `${feed.sent.length} messages`)
    const { isBehind, fault, state } = await feed.status()
    assert.deepEqual([isBehind, fault, state], [true, 'status 502', 'active'])
    isDown = false
    await until('all are delivered', async () => {
      await feed.deliver()
      return new Set(feed.confirmed().map(({ id }) => id)).size === 200
    })
    feed.stop()
    assert.equal(feed.confirmed().length, 200)
    assert.equal((await feed.status()).fault, null)
  })

  it('gets large records one at a time, and small ones meanwhile', async () => {
    let [large, inHand, most, isFailing]: [string[], number, number, boolean] = [[], 0, 0, true]
    const feed = await prepare(20, ({ id }) => {
      if (!large.includes(id)) return { status: 204 }
      most = Math.max(most, ++inHand)
      setTimeout(() => inHand--, SLOW_MS)
      return { status: isFailing ? 500 : 204, afterMs: SLOW_MS }
    })
    large = feed.ids.slice(0, 2)
    await sql`update feedback_category set title = repeat('x', 600000) where id = any (${large}::uuid[])`
    await until('the small ones are delivered', async () => {
      await feed.deliver()
      return feed.confirmed().length === 18
    })
    isFailing = false
    await until('all are delivered', async () => {
      await feed.deliver()
      return feed.confirmed().length === 20
    })
    feed.stop()
    assert.equal(most, 1)
    assert.equal((await feed.undelivered()).length, 0)
  })

  it('passes a row of records that all fail, once others are confirmed', async () => {
    let failing: string[] = []
    const feed = await prepare(60, ({ id }) => ({ status: failing.includes(id) ? 500 : 204 }))
    failing = feed.ids.slice(0, 12)
    await until('all others are delivered', async () => {
      await feed.deliver()
      return feed.confirmed().length === 48
    })
    feed.stop()
    assert.equal((await feed.undelivered()).length, 12)
  })

  it('pauses as its receiver asks', async () => {
    for (const status of [429, 503]) {
      const feed = await prepare(40, ({ position }) =>
        position === 2 ? { status, headers: { 'Retry-After': '600' } } : { status: 204 },
      )
      await feed.deliver()
      const before = feed.sent.length
      assert.ok(before < 20, `${before} messages`)
      assert.equal(await feed.deliver(), 0)
      feed.stop()
      assert.equal(feed.sent.length, before)
    }
  })
})
