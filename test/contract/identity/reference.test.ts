import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import type { FeedbackRecord } from '../../../contract/feedback-record.ts'
import { hashKeyFrom, ownId, type Realm } from '../../../contract/identity/own-id.ts'
import { feedbackReferences } from '../../../contract/identity/reference.ts'

describe('the keys of an account that is named', () => {
  const keysIn = (realm: Realm, account: FeedbackRecord['account']) => {
    const record = {
      description: 'd',
      isExternalContactId: false,
      isExternalAccountId: false,
      account,
    } as FeedbackRecord
    const { weak, nameKey } = feedbackReferences({ ...realm, number: 1, recordId: randomUUID() }, record).account!
    return { weak, nameKey }
  }
  const hashKey = hashKeyFrom('ab'.repeat(32))
  const realms: Realm[] = [
    { hashKey, workspaceId: randomUUID() },
    { hashKey, workspaceId: randomUUID() },
    { hashKey: hashKeyFrom('cd'.repeat(32)), workspaceId: randomUUID() },
  ]

  it('are those of its workspace, installation and kind, however often it is named', () => {
    const text = 'acme.example'
    for (const realm of [...realms, ...realms]) {
      assert.deepEqual(keysIn(realm, { name: text, domain: text }), {
        weak: ownId(realm, 'account_domain', text),
        nameKey: ownId(realm, 'account_name', text),
      })
    }
  })

  it('are made for a name of any length', () => {
    const name = 'x'.repeat(10_000)
    assert.equal(keysIn(realms[0]!, { name }).weak, ownId(realms[0]!, 'account_name', name))
  })
})
