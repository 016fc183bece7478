import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sharedService } from '../support/shared-service.ts'

const service = await sharedService()
after(() => service.stop())

type Change = { position: number; kind: string; id: string; deleted: boolean; record?: object; mergedInto?: string }

describe('the change feed', () => {
  const get = (query: string, headers: Readonly<Record<string, string>> = {}) =>
    service.request(`/api/v1/changes?${query}`, undefined, { method: 'GET', token: service.readToken, headers })

  it('shows a purge only as tombstones, which name the removed records and nothing else', async () => {
    const email = 'leaving@example.org'
    await service.submit('/feedbacks', { description: 'Goodbye', contact: { email, name: 'Lea' }, tags: ['leaving'] })
    const purge = await service.submit('/contacts/purge', { email }, { token: service.adminToken })
    await service.settled(purge)
    const answer = await get('limit=500')
    assert.ok(!answer.text.includes('leaving') && !answer.text.includes('Goodbye') && !answer.text.includes('Lea'))
    const tombstones = (answer.body.changes as Change[]).filter(({ deleted }) => deleted).slice(-3)
    assert.deepEqual(tombstones.map(({ kind }) => kind).toSorted(), ['customer', 'feedback', 'feedback_category'])
    for (const tombstone of tombstones) assert.deepEqual(Object.keys(tombstone), ['position', 'kind', 'id', 'deleted'])
  })

  it('holds an answer that would be empty until a record changes', async () => {
    const { body } = await get('limit=500')
    const waiting = get(`after=${body.next}`, { Prefer: 'wait=30' })
    await service.submit('/accounts/identify', { id: 'awaited' })
    const answer = await waiting
    assert.equal(answer.headers.get('Preference-Applied'), 'wait')
    assert.deepEqual(
      (answer.body.changes as Change[]).map(({ kind }) => kind),
      ['account'],
    )
    const empty = await get(`after=${answer.body.next}`)
    assert.deepEqual(empty.body, { changes: [], next: answer.body.next })
  })
})
