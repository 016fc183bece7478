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

  it('are the 1,000 that were said last, null or not; of those given, the first', () => {
    const keys = (prefix: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, null]))
    const tables = after(
      byEmail('ann@example.org', { sourceData: keys('given', 900) }),
      byEmail('ann@example.org', { sourceData: keys('later', 900) }),
      contact({ id: 'x', properties: { $email: 'ann@example.org', ...keys('old', 300) } }),
      contact({ id: 'x', properties: { ...keys('new', 650), old7: 1 } }),
    )
    const kept = Object.keys(contactOf(tables, X)?.properties ?? {})
    const count = (prefix: string) => kept.filter((key) => key.startsWith(prefix)).length
    assert.deepEqual(['new', 'old', 'given', 'later'].map(count), [650, 300, 50, 0])
  })
})
