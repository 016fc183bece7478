import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, it } from 'node:test'
import { canPurgeMatch, decidePurge } from '../../../db/purges/decide-purge.ts'
import { setAside } from '../../../db/submissions/dead.ts'
import type { PurgeRequest } from '../../../contract/purge-request.ts'
import { createPurgeRig, type PurgeRig } from '../../support/purge-rig.ts'
import { hashKey, sharedSchema } from '../../support/schema.ts'

const { sql } = await sharedSchema()
const EMAIL = 'ann@example.org'

describe('the answer whether a purge can match stored data', () => {
  let rig: PurgeRig
  beforeEach(async () => {
    rig = await createPurgeRig(sql)
  })
  const canMatch = (wanted: PurgeRequest) => canPurgeMatch(sql, rig.realm, wanted)

  it('is true for a contact with the external id, in all sources or in the named one', async () => {
    await rig.identify({ id: 'a', source: 'crm' })
    assert.equal(await canMatch({ id: 'a' }), true)
    assert.equal(await canMatch({ id: 'a', source: 'crm' }), true)
    assert.equal(await canMatch({ id: 'a', source: 'shop' }), false)
    assert.equal(await canMatch({ id: 'b' }), false)
    assert.equal(await canPurgeMatch(sql, { hashKey, workspaceId: randomUUID() }, { id: 'a' }), false)
  })

  it('is true for a contact with the email, in any form of it', async () => {
    assert.equal(await canMatch({ email: EMAIL }), false)
    await rig.feedback({ contact: { email: EMAIL } })
    assert.equal(await canMatch({ email: 'Ann <ANN@example.org>' }), true)
  })

  it('is true for a record that waits for the external id, even after purges of that id', async () => {
    for (let purges = 0; purges < 3; purges++) {
      assert.equal(await canMatch({ id: 'a' }), false)
      await rig.feedback({ isExternalContactId: true, contactId: 'a' })
      assert.equal(await canMatch({ id: 'a' }), true)
      await rig.purge({ id: 'a' })
    }
  })

  it('is true for a dead submission that names the contact', async () => {
    const submission = rig.make('create_feedback', { contact: { email: EMAIL } })
    await setAside(sql, hashKey, { submission, attempts: 1, reason: 'x', expected: 0 })
    assert.equal(await canMatch({ email: EMAIL }), true)
    assert.equal(await canMatch({ id: 'a' }), false)
  })
})

describe('the decision of a purge', () => {
  it('is left to another worker that has moved the position', async () => {
    const rig = await createPurgeRig(sql)
    await rig.feedback({})
    const purge = rig.make('purge_contact', { id: 'ada' })
    assert.equal(await decidePurge({ sql, hashKey }, purge, 0), 'busy')
  })
})
