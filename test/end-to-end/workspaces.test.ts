import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type SharedService, sharedService } from '../support/shared-service.ts'

const EMAIL = 'ada@example.com'
const CREATED_AT = '2026-01-01T00:00:00Z'

describe('two workspaces', () => {
  let one: SharedService
  let other: SharedService
  before(async () => {
    one = await sharedService()
    other = await sharedService()
    for (const workspace of [one, other]) await tell(workspace)
  })
  after(async () => {
    await one?.stop()
    await other?.stop()
  })

  /** The same of everything. */
  const tell = async ({ submit }: SharedService): Promise<void> => {
    const account = { id: 'account', properties: { $name: 'Acme', $domain: 'acme.example' } }
    await submit('/contacts/identify', { id: 'contact', properties: { $email: EMAIL }, account })
    const record = { source: 'Zendesk', sourceId: '1', tags: ['Tag'], project: { name: 'Apollo' } }
    await submit('/feedbacks', { description: 'x', ...record, contact: { email: EMAIL } })
    const messages = [{ id: '1', incoming: true, content: 'x', createdAt: CREATED_AT, contactId: 'contact' }]
    const conversation = { id: '1', source: 'Intercom', createdAt: CREATED_AT, contacts: [{ id: 'contact' }], messages }
    await submit('/conversations', conversation)
  }
  const idsOf = async ({ sql }: SharedService, table: string): Promise<string[]> => {
    const rows = await sql<{ id: string }[]>`select id from ${sql(table)}`
    return rows.map(({ id }) => id)
  }

  it('have the same records, each with an id of its own', async () => {
    const tables = ['contact', 'account', 'project', 'feedback', 'feedback_category', 'conversation', 'message']
    for (const table of tables) {
      const ids = [...(await idsOf(one, table)), ...(await idsOf(other, table))]
      assert.ok(ids.length >= 2, table)
      assert.equal(new Set(ids).size, ids.length, table)
    }
  })

  it("know nobody by each other's own ids", async () => {
    const [[contactId], [accountId], [projectId]] = [
      await idsOf(one, 'contact'),
      await idsOf(one, 'account'),
      await idsOf(one, 'project'),
    ]
    const answer = await other.submit('/feedbacks', { description: 'x', contactId, accountId, projectId })
    assert.deepEqual(Object.keys(answer.body.feedback), ['id', 'description'])
    const [row] = await other.sql`
      select contact_id, account_id, project_id from feedback where id = ${answer.body.feedback.id}`
    assert.deepEqual({ ...row }, { contact_id: null, account_id: null, project_id: null })
  })

  it('purge their own contacts alone', async () => {
    const purge = await other.post('/contacts/purge', { id: 'contact', email: EMAIL }, { token: other.adminToken })
    assert.equal(purge.status, 200, purge.text)
    assert.equal(await other.settled(purge), 'applied')
    assert.deepEqual(await idsOf(other, 'contact'), [])
    assert.equal((await idsOf(one, 'contact')).length, 1)
    assert.equal((await idsOf(one, 'message')).length, 1)
  })
})
