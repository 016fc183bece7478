import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { makeToken } from '../../contract/token-format.ts'
import { addToken } from '../../db/tokens.ts'
import { type OwnWorkspace, ownWorkspace } from '../support/own-workspace.ts'
import { type Answer, submissionIdOf } from '../support/service.ts'
import { sharedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const service = await sharedService()
after(() => service.stop())

const WAIT = { Prefer: 'wait=30' }
type Record = {
  id: string
  tags?: string[]
  tagsGenerated: boolean
  rating?: number
  isHidden: boolean
  title?: string
}

describe('a correction', () => {
  let own: OwnWorkspace
  let editToken: string
  const name = `corrections ${randomUUID()}`
  before(async () => {
    own = await ownWorkspace({ sql: service.all, urls: service.urls }, name)
    editToken = makeToken()
    await addToken(service.all, { token: editToken, workspace: name, scopes: ['read', 'edit'], expiresAt: null })
  })

  type How = { token?: string; headers?: object }
  const correct = (id: string, body: unknown, { token = editToken, headers = {} }: How = {}): Promise<Answer> =>
    own.request(`/api/v1/feedbacks/${id}`, body, { method: 'PATCH', token, headers: { ...WAIT, ...headers } })
  const remove = (id: string, { token = own.adminToken, headers = {} }: How = {}): Promise<Answer> =>
    own.request(`/api/v1/feedbacks/${id}`, undefined, { method: 'DELETE', token, headers: { ...WAIT, ...headers } })
  const send = async (body: object): Promise<Record> => {
    const answer = await own.post('/feedbacks', { description: 'The export is slow', ...body }, { headers: WAIT })
    assert.deepEqual([answer.status, answer.headers.get('submission-state')], [201, 'applied'], answer.text)
    return answer.body.feedback as Record
  }
  const read = async (id: string): Promise<Record | undefined> => {
    const { status, body } = await own.get(`/api/v1/feedbacks/${id}`, { token: own.readToken })
    return status === 404 ? undefined : (body.feedback as Record)
  }
  const assertState = (answer: Answer, status: number, state: string): void =>
    assert.deepEqual([answer.status, answer.headers.get('submission-state')], [status, state], answer.text)
  const listed = async (query: string): Promise<string[]> => {
    const { body } = await own.get(`/api/v1/feedbacks${query}`, { token: own.readToken })
    return (body['feedbacks'] as unknown as Record[]).map(({ id }) => id)
  }

  it('stays when the source sends the record again, until a person undoes it', async () => {
    const sent = { source: 'Desk', sourceId: 'D-1', tags: ['export'], rating: 4 }
    const { id } = await send(sent)
    const first = await read(id)
    const set = { tags: [' row limit', 'row limit', ''], rating: 1 }
    assertState(await correct(id, set), 200, 'applied')
    assert.deepEqual(await read(id), { ...first, tags: ['row limit'], rating: 1 })
    await send({ ...sent, title: 'New title', tags: ['speed'], rating: 5 })
    const again = await read(id)
    assert.deepEqual([again?.title, again?.tags, again?.rating], ['New title', ['row limit'], 1])
    assertState(await correct(id, { tags: null }), 200, 'applied')
    assert.deepEqual([(await read(id))?.tags, (await read(id))?.rating], [['speed'], 1])
    assertState(await correct(id, { rating: null }), 200, 'applied')
    assert.deepEqual(await read(id), { ...again, tags: ['speed'], rating: 5 })
  })

  it('teaches the tagger, and takes this back when it is undone', async () => {
    const { id } = await send({ description: 'The pagination of invoices is broken and slow' })
    const generated = await until('the tags are generated', async () => (await read(id))?.tags && (await read(id)))
    assert.equal(generated.tagsGenerated, true)
    const shares = () => service.all<{ judged: boolean; titles: string[] }[]>`
      select judged, titles from tag_share where record_id = ${id}`
    assertState(await correct(id, { tags: ['paging'] }), 200, 'applied')
    await until('the tagger learns', async () => (await shares())[0]?.judged === true || undefined)
    assert.deepEqual((await shares())[0]?.titles, ['paging'])
    assertState(await correct(id, { tags: null }), 200, 'applied')
    const back = await until('the tags are generated again', async () => (await read(id))?.tags && (await read(id)))
    assert.deepEqual(back, generated)
    await until('the share is that of generated tags', async () => (await shares())[0]?.judged === false || undefined)
    const [left] = await service.all<{ count: number }[]>`
      select count(*)::int as count from feedback_category where workspace_id = ${own.workspaceId} and title = 'paging'`
    assert.equal(left?.count, 0)
  })

  it('can hide a feedback, which is then in no count, and in lists only where it is asked for', async () => {
    const { id } = await send({ source: 'Hidden', tags: ['secret'], rating: 2 })
    const counted = async (): Promise<unknown> =>
      (await own.get('/api/v1/counts?by=source&source=Hidden', { token: own.readToken })).body.total['feedback']
    assert.deepEqual([await counted(), await listed('?source=Hidden')], [1, [id]])
    assertState(await correct(id, { isHidden: true }), 200, 'applied')
    assert.equal((await read(id))?.isHidden, true)
    assert.deepEqual(
      [await counted(), await listed('?source=Hidden'), await listed('?source=Hidden&isHidden=true')],
      [0, [], [id]],
    )
    const changes = await own.get('/api/v1/changes?limit=500', { token: own.readToken })
    const shown = (changes.body['changes'] as unknown as { id: string; record?: Record }[]).find(
      (each) => each.id === id,
    )
    assert.equal(shown?.record?.isHidden, true)
    assertState(await correct(id, { isHidden: false }), 200, 'applied')
    assert.deepEqual([await counted(), await listed('?source=Hidden&isHidden=true')], [1, []])
    const [row] = await service.all<{ corrections: unknown; uncorrected: unknown }[]>`
      select corrections, uncorrected from feedback where id = ${id}`
    assert.deepEqual(row, { corrections: null, uncorrected: null })
  })

  it('is applied once for an idempotency key, and has a receipt', async () => {
    const { id } = await send({ rating: 1 })
    const headers = { 'Idempotency-Key': randomUUID() }
    const first = await correct(id, { rating: 2 }, { headers })
    const again = await correct(id, { rating: 2 }, { headers })
    assert.deepEqual([again.status, submissionIdOf(again)], [200, submissionIdOf(first)])
    assert.equal((await correct(id, { rating: 3 }, { headers })).status, 422)
    const receipt = await own.get(`/api/v1/submissions/${submissionIdOf(first)}`, { token: own.adminToken })
    const { operation, state } = receipt.body['submission'] as unknown as { operation: string; state: string }
    assert.deepEqual([operation, state], ['correct_feedback', 'applied'])
  })

  it('is refused for a wrong body, an unknown record and a token of another scope', async () => {
    const { id } = await send({})
    for (const body of [{}, [], { rating: 'x' }, { tags: 'x' }, { isHidden: 1 }])
      assert.equal((await correct(id, body)).status, 400, JSON.stringify(body))
    for (const unknown of [randomUUID(), 'no-id']) {
      assert.equal((await correct(unknown, { rating: 1 })).status, 404)
      assert.equal((await remove(unknown)).status, 404)
    }
    for (const token of [own.accessToken, own.readToken]) {
      assert.equal((await correct(id, { rating: 1 }, { token })).status, 403)
      assert.equal((await remove(id, { token })).status, 403)
    }
    assert.equal((await remove(id, { token: editToken })).status, 403)
    assertState(await correct(id, { rating: 1 }, { token: own.adminToken }), 200, 'applied')
  })

  it('comes to an end with the record: a deletion takes all that was made from it, and its id never returns', async () => {
    const key = randomUUID()
    const sent = {
      source: 'Desk',
      sourceId: 'D-2',
      description: 'The dashboard of Zanzibar is slow',
      contact: { name: 'Ann' },
    }
    const post = () => own.post('/feedbacks', sent, { headers: { ...WAIT, 'Idempotency-Key': key } })
    const first = await post()
    const { id, customerId } = first.body.feedback as unknown as Record & { customerId: string }
    assertState(await correct(id, { tags: ['zanzibar'] }), 200, 'applied')
    const headers = { 'Idempotency-Key': randomUUID() }
    const removed = await remove(id, { headers })
    assertState(removed, 200, 'applied')
    assert.equal(submissionIdOf(await remove(id, { headers })), submissionIdOf(removed))
    assert.equal((await remove(id)).status, 404)
    assert.equal((await correct(id, { rating: 1 })).status, 404)
    assert.equal(await read(id), undefined)
    assert.equal((await own.get(`/api/v1/customers/${customerId}`, { token: own.readToken })).status, 404)
    for (const table of ['tag_share', 'unresolved', 'feedback'] as const) {
      const column = table === 'feedback' ? 'id' : 'record_id'
      assert.equal((await service.all.unsafe(`select from ${table} where ${column} = $1`, [id])).count, 0, table)
    }
    const tags = await service.all`
      select from feedback_category where workspace_id = ${own.workspaceId} and title = 'zanzibar'`
    assert.equal(tags.count, 0)
    const changes = await own.get('/api/v1/changes?limit=500', { token: own.readToken })
    const shown = (changes.body['changes'] as unknown as { id: string; deleted: boolean }[]).find(
      (each) => each.id === id,
    )
    assert.equal(shown?.deleted, true)
    const again = await post()
    const { id: newId } = again.body.feedback as unknown as Record
    assert.notEqual(submissionIdOf(again), submissionIdOf(first), 'its idempotency key is free')
    assert.notEqual(newId, id)
    assert.equal((await read(newId))?.isHidden, false)
    assert.equal((await send({ ...sent, title: 'again' })).id, newId)
    await until('the new record is tagged', async () => (await read(newId))?.tags)
    assertState(await remove(newId), 200, 'applied')
    assert.equal(new Set([id, newId, (await send(sent)).id]).size, 3)
  })
})
