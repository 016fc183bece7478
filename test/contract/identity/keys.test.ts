import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  accountIdKey,
  accountNameKey,
  asUuid,
  contactIdKey,
  contactSourceKey,
  domainKey,
  emailKey,
  hashKeyFrom,
  idOfEpoch,
  projectKey,
  type Realm,
  recordContactKey,
} from '../../../contract/identity/keys.ts'

const hashKey = hashKeyFrom('ab'.repeat(32))
const realm: Realm = { hashKey, workspaceId: '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a01' }
const others: Realm[] = [
  { hashKey, workspaceId: '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a02' },
  { ...realm, hashKey: hashKeyFrom('cd'.repeat(32)) },
]
const keysOf = (given: Realm, text: string): string[] => [
  contactIdKey(given, text),
  contactSourceKey(given, 'API', text),
  contactSourceKey(given, 'crm', text),
  emailKey(given, text),
  recordContactKey(given, text),
  accountIdKey(given, text),
  domainKey(given, text),
  accountNameKey(given, text),
  projectKey(given, text),
]

describe('the keys of a text', () => {
  it('are the same each time, and differ by kind, source, workspace and installation', () => {
    assert.deepEqual(keysOf(realm, 'acme'), keysOf(realm, 'acme'))
    const all = [realm, ...others].flatMap((given) => [...keysOf(given, 'acme'), ...keysOf(given, 'acme ')])
    assert.equal(new Set(all).size, all.length)
  })

  it('are own ids, even for a very long text', () => {
    for (const key of keysOf(realm, 'x'.repeat(10_000))) assert.equal(asUuid(key.toUpperCase()), key)
  })
})

describe('the id of an epoch', () => {
  it('is the key itself before the first purge, and a new own id after each', () => {
    const key = emailKey(realm, 'kate@x.example')
    const ids = [0, 1, 2, 10].map((epoch) => idOfEpoch(key, epoch))
    assert.equal(ids[0], key)
    assert.equal(new Set(ids).size, ids.length)
    for (const id of ids) assert.equal(asUuid(id), id)
    assert.equal(idOfEpoch(key, 2), ids[2])
  })
})
