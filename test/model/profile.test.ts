import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { after, byEmail, contact, contactOf, idOf, replayed, X } from './submissions.ts'

describe('properties', () => {
  it('merge key by key at the top level after unflattening; null clears a column and is stored for other keys', () => {
    const tables = after(
      contact({
        id: 'x',
        shouldUnflattenProperties: true,
        properties: {
          $name: 'Ann',
          $contractValue: 3,
          $createdAt: '2026-01-01T01:00:00+01:00',
          'a.b': 1,
          'a.c': 2,
          plan: 1,
        },
      }),
      contact({
        id: 'x',
        properties: { $name: null, $createdAt: null, plan: null, a: { d: 1 }, 'e.f': 1, $custom: 1, $domain: 'x' },
      }),
      contact({ id: 'x', properties: null }),
    )
    const row = contactOf(tables, X)
    assert.deepEqual([row?.name, row?.contract_value, row?.source_created_at], [null, 3, null])
    assert.deepEqual(row?.properties, { a: { d: 1 }, plan: null, 'e.f': 1, $custom: 1, $domain: 'x' })
    assert.deepEqual([row?.created_number, row?.updated_number], [1, 3])
  })

  it('of a reference fill absent values: a null column counts as absent, a null metadata key does not', () => {
    const tables = after(
      contact({ id: 'x', properties: { $email: 'ann@example.org', $name: null, plan: null } }),
      byEmail('ann@example.org', { name: 'Ann', sourceData: { plan: 2, seats: 3, $name: 'kept apart' } }),
      byEmail('ann@example.org', { sourceData: { seats: 4 } }),
    )
    const row = contactOf(tables, X)
    assert.equal(row?.name, 'Ann')
    assert.deepEqual(row?.properties, { plan: null, seats: 3, $name: 'kept apart' })
    assert.equal(row?.updated_number, 2)
  })

  it('of an identify that is older by $updatedAt only fill absent values', () => {
    const older = { $updatedAt: '2026-01-01T00:00:00Z', $name: 'Old', $contractValue: 1, plan: 1, seats: 1 }
    const newer = { $updatedAt: '2026-01-02T00:00:00+00:00', $name: 'New', $contractValue: null, plan: null }
    const tables = after(
      contact({ id: 'x', properties: newer, account: { id: 'a' } }),
      contact({ id: 'x', properties: older, account: { id: 'b' } }),
      contact({ id: 'x', properties: older }),
    )
    const row = contactOf(tables, X)
    assert.deepEqual([row?.name, row?.contract_value, row?.properties], ['New', 1, { plan: null, seats: 1 }])
    assert.deepEqual([row?.source_updated_at, row?.updated_number], ['2026-01-02T00:00:00.000Z', 2])
    assert.equal(row?.account_id, idOf('account_external', 'a'))
  })

  it('of a replay only fill absent values if the profile has changed since the original', () => {
    const step = contact({ id: 'x', properties: { $name: 'Old', plan: 1, seats: 1 }, account: { id: 'a' } })
    const newer = contact({ id: 'x', properties: { $name: 'New', plan: 2 } })
    const late = contactOf(after(newer, replayed(step, 0)), X)
    assert.deepEqual([late?.name, late?.properties], ['New', { plan: 2, seats: 1 }])
    assert.equal(late?.account_id, idOf('account_external', 'a'))
    assert.equal(contactOf(after(newer, replayed(step, 1)), X)?.name, 'Old')
  })

  it('of replays are those of the newest original, in any order of the replays', () => {
    const older = replayed(contact({ id: 'x', properties: { $name: 'Old', plan: 1 } }), 0)
    const newer = replayed(contact({ id: 'x', properties: { $name: 'New', seats: 2 } }), 1)
    for (const replays of [
      [older, newer],
      [newer, older],
    ]) {
      const row = contactOf(after(contact({ id: 'other' }), ...replays), X)
      assert.deepEqual([row?.name, row?.properties], ['New', { plan: 1, seats: 2 }])
    }
  })
})
