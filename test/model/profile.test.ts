import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { after, byEmail, contact, contactOf, X } from './submissions.ts'

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

  it('given by a reference fill only what no identify has set, be it to null', () => {
    const tables = after(
      contact({ id: 'x', properties: { $email: 'ann@example.org', $name: null, plan: 1 } }),
      byEmail('ann@example.org', { name: 'Ann', sourceData: { plan: 2, seats: 3, $name: 'kept apart' } }),
      byEmail('ann@example.org', { sourceData: { seats: 4 } }),
    )
    const row = contactOf(tables, X)
    assert.equal(row?.name, null)
    assert.deepEqual(row?.properties, { plan: 1, seats: 3, $name: 'kept apart' })
    assert.equal(row?.updated_number, 2)
  })
})
