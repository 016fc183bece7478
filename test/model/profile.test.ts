import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { account, after, byEmail, contact, contactOf, conversation, idOf, replayed, X } from './submissions.ts'

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

  it('are unflattened if their object asks for it, except keys that begin with $', () => {
    const properties = { $name: 'Ann', '$custom.key': 1, 'plan.name': 'gold' }
    const tables = after(
      contact({
        id: 'x',
        shouldUnflattenProperties: true,
        properties,
        account: { id: 'a', properties: { ...properties, $domain: 'acme.example' } },
      }),
    )
    assert.deepEqual(contactOf(tables, X)?.properties, { '$custom.key': 1, plan: { name: 'gold' } })
    assert.deepEqual(tables.account[0]?.properties, { '$custom.key': 1, 'plan.name': 'gold' })
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

  it('are at most 1,000: the keys of the last identify, then the first by name, null or not', () => {
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
    assert.deepEqual(['new', 'old', 'given', 'later'].map(count), [650, 1, 349, 0])
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

  it('of a replay that names an account twice are late both times', () => {
    const nested = (id: string, $domain: string, plan: number) => ({
      id,
      account: { id: 'a', properties: { $name: 'Acme', $domain, plan, [id]: 1 } },
    })
    const tables = after(
      account({ id: 'a', properties: { $name: 'Acme', $domain: 'acme.example', plan: 1 } }),
      replayed(conversation({ contacts: [nested('x', 'x.example', 2), nested('y', 'y.example', 3)] }), 0),
    )
    assert.deepEqual(tables.account[0]?.properties, { plan: 1, x: 1, y: 1 })
  })
})
