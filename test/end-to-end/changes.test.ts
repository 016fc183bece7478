import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { RECORD_TABLES } from '../../db/reads/records.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { submitHistory } from '../support/submitted-history.ts'
import { until } from '../support/until.ts'

type Change = { position: number; kind: string; id: string; deleted: boolean; record?: object; mergedInto?: string }

const HISTORY = 120

describe('the change feed', () => {
  let service: SharedService
  before(async () => {
    service = await sharedService()
  })
  after(() => service?.stop())

  const get = (query: string, headers: Readonly<Record<string, string>> = {}) =>
    service.request(`/api/v1/changes?${query}`, undefined, { method: 'GET', token: service.readToken, headers })

  /** Follows the feed, and keeps a copy of the records. */
  const createFollower = (limit: number) => {
    const copy = new Map<string, object>()
    let last = 0
    let place = ''
    const follow = async (): Promise<void> => {
      for (;;) {
        const { status, text, body } = await get(`limit=${limit}${place && `&after=${place}`}`)
        if (status === 503) continue
        assert.equal(status, 200, text)
        for (const { position, kind, id, deleted, record } of body.changes as Change[]) {
          assert.ok(position > last, `position ${position} came after ${last}`)
          last = position
          if (deleted) copy.delete(`${kind} ${id}`)
          else copy.set(`${kind} ${id}`, record!)
        }
        place = body.next
        if (body.changes.length < limit) return
      }
    }
    return { copy, follow }
  }

  const stored = async (): Promise<Map<string, object>> => {
    const rows = await Promise.all(
      Object.entries(RECORD_TABLES).map(
        ([kind, table]) => service.all<{ name: string; record: string }[]>`
          select ${kind} || ' ' || id as name, ${service.all(`${kind}_json`)}(r) as record
          from ${service.all(table)} as r where r.workspace_id = ${service.workspaceId}`,
      ),
    )
    return new Map(rows.flat().map(({ name, record }) => [name, JSON.parse(record)]))
  }
  const sorted = (copy: ReadonlyMap<string, object>) => [...copy].toSorted(([a], [b]) => (a < b ? -1 : 1))

  it('leads each reader to exactly the records of the tables, through merges, purges, moves and tags', async () => {
    const followers = [1, 7, 500].map((limit) => createFollower(limit))
    const over = new AbortController()
    const following = Promise.all(
      followers.map(async ({ follow }) => {
        while (!over.signal.aborted) await follow()
      }),
    )
    await submitHistory(service, HISTORY).finally(() => over.abort())
    await following
    const late = createFollower(100)
    for (const { copy, follow } of [...followers, late]) {
      await until('the copy has the stored records', async () => {
        await follow()
        return isDeepStrictEqual(sorted(copy), sorted(await stored()))
      })
    }
    assert.ok(late.copy.size > 0)
  })

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
