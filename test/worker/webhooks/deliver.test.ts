import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { it } from 'node:test'
import { deliver } from '../../../worker/webhooks/deliver.ts'
import { serveHttp } from '../../support/http-server.ts'
import { hashKey, makeWorkspaces, sharedSchema } from '../../support/schema.ts'

const { sql } = await sharedSchema()
const SLOW_MS = 200

it('a webhook gets the tombstone of a record before the change that stores it again', async () => {
  const [workspaceId, id, category] = [randomUUID(), randomUUID(), randomUUID()]
  const answered: string[] = []
  const receiver = await serveHttp(async (_request, response, body) => {
    const { type } = JSON.parse(String(body)) as { type: string }
    if (type.endsWith('deleted')) await pause(SLOW_MS)
    answered.push(type)
    response.writeHead(204).end()
  })
  await makeWorkspaces(sql, [workspaceId])
  await sql`
    insert into tombstone (workspace_id, position, kind, record_id) values (${workspaceId}, 1, 'feedback_category', ${category})`
  await sql`
    insert into feedback_category (workspace_id, id, title, uses, change_position) values (${workspaceId}, ${category}, 'slow', 1, 2)`
  await sql`update workspace_progress set change_position = 2 where workspace_id = ${workspaceId}`
  await sql`
    insert into webhook (workspace_id, id, url, state, position) values (${workspaceId}, ${id}, ${receiver.url}, 'active', 0)`
  const stop = new AbortController().signal
  const delivered = await deliver({ sql, hashKey, allowedHosts: ['127.0.0.1'], stop }, { workspaceId, id })
  receiver.stop()
  assert.equal(delivered, 2)
  assert.deepEqual(answered, ['feedback_category.deleted', 'feedback_category.changed'])
})
