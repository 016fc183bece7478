import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import type { WebhookScope } from '../../../contract/webhook-settings.ts'
import { createWebhook, findWebhook, listUndelivered } from '../../../db/webhooks.ts'
import { deliver } from '../../../worker/webhooks/deliver.ts'
import { createPlaces } from '../../../worker/webhooks/places.ts'
import { serveHttp } from '../../support/http-server.ts'
import { hashKey, makeWorkspaces, sharedSchema } from '../../support/schema.ts'

const { sql } = await sharedSchema()
const ALL: WebhookScope = { kinds: null, filter: null, holdUntilTagged: false, format: 'standard' }

type Sent = { kind: string; id: string; tags: readonly string[] | undefined }

/** A workspace without records, and a webhook of this scope. */
const prepare = async (scope: Partial<WebhookScope>) => {
  const workspaceId = randomUUID()
  const sent: Sent[] = []
  const { url, stop } = await serveHttp((_, response, body) => {
    const { data } = JSON.parse(String(body)) as { data: Sent & { record?: { tags?: string[] } } }
    sent.push({ kind: data.kind, id: data.id, tags: data.record?.tags })
    response.writeHead(204).end()
  })
  await makeWorkspaces(sql, [workspaceId])
  const id = (await createWebhook(sql, { workspaceId, url, from: 0, ...ALL, ...scope }))!
  let position = 0
  const reach = () =>
    sql`update workspace_progress set change_position = ${position} where workspace_id = ${workspaceId}`
  const places = createPlaces()
  const { signal } = new AbortController()
  return {
    id,
    sent,
    stop,
    workspaceId,
    feedback: async (count: number, tags: readonly string[] | null, source = 'Mail'): Promise<string[]> => {
      const ids = Array.from({ length: count }, () => randomUUID())
      await sql`
        insert into feedback (workspace_id, id, description, tags, tags_generated, tagger_version, source, first_number, number, change_position)
        select ${workspaceId}, id, 'x', ${tags as string[] | null}::text[], true, ${tags && 1}::int, ${source}, 1, 1, ${position} + place
        from unnest(${ids}::uuid[]) with ordinality as t (id, place)`
      position += count
      await reach()
      return ids
    },
    tag: async (record: string, tags: readonly string[]): Promise<void> => {
      await sql`
        update feedback set tags = ${tags as string[]}, tagger_version = 1, change_position = ${++position}
        where workspace_id = ${workspaceId} and id = ${record}`
      await reach()
    },
    passMinute: () =>
      sql`update undelivered_change set next_attempt_at = now() - interval '1 second' where workspace_id = ${workspaceId}`,
    deliver: () => deliver({ sql, hashKey, allowedHosts: ['127.0.0.1'], places, stop: signal }, { workspaceId, id }),
    waiting: async () => (await listUndelivered(sql, { workspaceId, id }, 5_000)).map(({ fault }) => fault),
    reached: async () => (await findWebhook(sql, { id }))!.place.position === position,
  }
}

describe('a webhook that chooses', () => {
  it('passes changes that it does not want without a message, page after page', async () => {
    const feed = await prepare({ kinds: ['feedback'], filter: { source: 'Mail' } })
    await feed.feedback(120, [], 'Shop')
    const wanted = await feed.feedback(3, [])
    await feed.feedback(60, [], 'Shop')
    assert.equal(await feed.deliver(), 3)
    feed.stop()
    assert.deepEqual(feed.sent.map(({ id }) => id).toSorted(), wanted.toSorted())
    assert.ok(await feed.reached())
    assert.deepEqual(await feed.waiting(), [])
  })

  it('sends feedback with the words of its filter, also before the search index has it', async () => {
    const feed = await prepare({ kinds: ['feedback'], filter: { q: '"charged twice" or sso' } })
    const ids = await feed.feedback(3, [])
    for (const [at, text] of ['They charged me twice', 'Charges twice a day', 'Add SSO'].entries())
      await sql`update feedback set description = ${text} where workspace_id = ${feed.workspaceId} and id = ${ids[at]!}`
    assert.equal(await feed.deliver(), 2)
    feed.stop()
    assert.deepEqual(feed.sent.map(({ id }) => id).toSorted(), ids.slice(1).toSorted())
    assert.ok(await feed.reached())
  })

  it('holds a feedback until its tags come, and then sends it once', async () => {
    const feed = await prepare({ holdUntilTagged: true })
    const [held] = (await feed.feedback(1, null)) as [string]
    const [tagged] = (await feed.feedback(1, [])) as [string]
    assert.equal(await feed.deliver(), 1)
    assert.deepEqual(
      feed.sent.map(({ id }) => id),
      [tagged],
    )
    assert.ok(await feed.reached())
    assert.deepEqual(await feed.waiting(), ['waits for tags'])
    await feed.tag(held, ['a'])
    assert.equal(await feed.deliver(), 1)
    await feed.passMinute()
    assert.equal(await feed.deliver(), 0)
    feed.stop()
    assert.deepEqual(feed.sent.at(-1), { kind: 'feedback', id: held, tags: ['a'] })
    assert.deepEqual(await feed.waiting(), [])
  })

  it('sends a feedback without tags if none come within a minute', async () => {
    const feed = await prepare({ holdUntilTagged: true })
    const [held] = (await feed.feedback(1, null)) as [string]
    assert.equal(await feed.deliver(), 0)
    await feed.passMinute()
    assert.equal(await feed.deliver(), 1)
    feed.stop()
    assert.deepEqual(feed.sent, [{ kind: 'feedback', id: held, tags: undefined }])
    assert.deepEqual(await feed.waiting(), [])
  })

  it('goes on with new changes while more feedback waits for tags than it would try again', async () => {
    const feed = await prepare({ holdUntilTagged: true })
    const held = await feed.feedback(1_100, null)
    const [tagged] = (await feed.feedback(1, ['b'])) as [string]
    assert.equal(await feed.deliver(), 1)
    assert.deepEqual(
      feed.sent.map(({ id }) => id),
      [tagged],
    )
    await feed.tag(held[1_050]!, ['c'])
    assert.equal(await feed.deliver(), 1)
    feed.stop()
    assert.equal((await feed.waiting()).length, 1_099)
  })

  it('holds only feedback that matches its filter', async () => {
    const feed = await prepare({ kinds: ['feedback'], filter: { source: 'Mail' }, holdUntilTagged: true })
    await feed.feedback(5, null, 'Shop')
    await feed.feedback(2, null)
    assert.equal(await feed.deliver(), 0)
    feed.stop()
    assert.equal((await feed.waiting()).length, 2)
  })
})
