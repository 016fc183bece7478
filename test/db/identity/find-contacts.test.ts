import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, it } from 'node:test'
import { canPurgeMatch } from '../../../db/purges/decide-purge.ts'
import { contactIdKey, emailKey, hashKeyFrom, idOfEpoch } from '../../../contract/identity/keys.ts'
import type { PurgeRequest } from '../../../contract/purge-request.ts'
import { createWorkspace } from '../../../db/workspaces/workspaces.ts'
import { sharedSchema } from '../../support/schema.ts'

const schema = await sharedSchema()
const hashKey = hashKeyFrom('0'.repeat(64))
const EMAIL = 'ann@example.org'

describe('the answer whether a purge can match stored data', () => {
  let workspaceId: string
  beforeEach(async () => {
    workspaceId = (await createWorkspace(schema.sql, randomUUID()))!.id
  })
  const canMatch = (id: string, wanted: PurgeRequest) => canPurgeMatch(schema.sql, { hashKey, workspaceId: id }, wanted)
  const addContact = async (email: string | null = null): Promise<string> => {
    const [row] = await schema.sql<[{ id: string }]>`
      insert into contact (workspace_id, id, email, first_number, number, change_position)
      values (${workspaceId}, ${randomUUID()}, ${email}, 1, 1, 1) returning id`
    return row.id
  }
  const idKey = () => contactIdKey({ hashKey, workspaceId }, 'a')

  it('is false without stored data', async () => {
    assert.equal(await canMatch(workspaceId, { id: 'a', email: EMAIL }), false)
  })

  it('is true for a contact with the external id, in all sources or in the named one', async () => {
    await schema.sql`
      insert into contact_external_id (workspace_id, key_id, source, external_id, contact_id, number)
      values (${workspaceId}, ${idKey()}, 'crm', 'a', ${await addContact()}, 1)`
    assert.equal(await canMatch(workspaceId, { id: 'a' }), true)
    assert.equal(await canMatch(workspaceId, { id: 'a', source: 'crm' }), true)
    assert.equal(await canMatch(workspaceId, { id: 'a', source: 'shop' }), false)
    assert.equal(await canMatch(workspaceId, { id: 'b' }), false)
    assert.equal(await canMatch(randomUUID(), { id: 'a' }), false)
  })

  it('is true for a contact with the email, in any form of it', async () => {
    await schema.sql`
      insert into contact_email (workspace_id, email, contact_id, number, claimed)
      values (${workspaceId}, ${EMAIL}, ${await addContact(EMAIL)}, 0, true)`
    assert.equal(await canMatch(workspaceId, { email: 'Ann <ANN@example.org>' }), true)
  })

  it('is true for a record that names the unknown external id, even after purges of that id', async () => {
    const remember = (key: string) => schema.sql`
      insert into unresolved (workspace_id, key_id, slot, record_id) values (${workspaceId}, ${key}, 'c', ${randomUUID()})`
    await remember(idKey())
    assert.equal(await canMatch(workspaceId, { id: 'a' }), true)
    await schema.sql`
      insert into purged_key (workspace_id, key_id, epoch, number) values (${workspaceId}, ${idKey()}, 3, 1)`
    assert.equal(await canMatch(workspaceId, { id: 'a' }), false)
    await remember(idOfEpoch(idKey(), 3))
    assert.equal(await canMatch(workspaceId, { id: 'a' }), true)
  })

  it('is true for a dead submission that names the contact', async () => {
    await schema.sql`
      insert into dead_submission (workspace_id, id, reason, submission, keys)
      values (${workspaceId}, ${randomUUID()}, 'x', '{}', ${[emailKey({ hashKey, workspaceId }, EMAIL)]}::uuid[])`
    assert.equal(await canMatch(workspaceId, { email: EMAIL }), true)
    assert.equal(await canMatch(workspaceId, { id: 'a' }), false)
  })
})
