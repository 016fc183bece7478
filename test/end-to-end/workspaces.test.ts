import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { makeToken } from '../../contract/token-format.ts'
import { addToken } from '../../db/tokens.ts'
import { createWorkspace } from '../../db/workspaces.ts'
import { type Service, startService } from '../support/service.ts'

const EMAIL = 'ada@example.com'
const CREATED_AT = '2026-01-01T00:00:00Z'

describe('two workspaces', () => {
  let service: Service
  let other: { id: string; token: string }
  before(async () => {
    service = await startService()
    const workspace = await createWorkspace(service.sql, 'other')
    other = { id: workspace!.id, token: makeToken() }
    await addToken(service.sql, { token: other.token, workspace: 'other', scopes: ['admin'], expiresAt: null })
    await tell(service.accessToken)
    await tell(other.token)
  })
  after(() => service?.stop())

  /** The same of everything, in the workspace of the token. */
  const tell = async (token: string): Promise<void> => {
    const account = { id: 'account', properties: { $name: 'Acme', $domain: 'acme.example' } }
    await service.submit('/contacts/identify', { id: 'contact', properties: { $email: EMAIL }, account }, { token })
    const record = { source: 'Zendesk', sourceId: '1', tags: ['Tag'], project: { name: 'Apollo' } }
    await service.submit('/feedbacks', { description: 'x', ...record, contact: { email: EMAIL } }, { token })
    const messages = [{ id: '1', incoming: true, content: 'x', createdAt: CREATED_AT, contactId: 'contact' }]
    const conversation = { id: '1', source: 'Intercom', createdAt: CREATED_AT, contacts: [{ id: 'contact' }], messages }
    await service.submit('/conversations', conversation, { token })
  }
  const idsOf = async (table: string, workspaceId: string): Promise<string[]> => {
    const { sql } = service
    const rows = await sql<{ id: string }[]>`select id from ${sql(table)} where workspace_id = ${workspaceId}`
    return rows.map(({ id }) => id)
  }

  for (const table of ['contact', 'account', 'project', 'feedback', 'feedback_category', 'conversation', 'message']) {
    it(`have a ${table} each, with an id of its own`, async () => {
      const ids = [...(await idsOf(table, service.workspaceId)), ...(await idsOf(table, other.id))]
      assert.ok(ids.length >= 2)
      assert.equal(new Set(ids).size, ids.length)
      assert.equal((await idsOf(table, other.id)).length, (await idsOf(table, service.workspaceId)).length)
    })
  }

  it("know nobody by each other's own ids", async () => {
    const [contactId] = await idsOf('contact', service.workspaceId)
    const [accountId] = await idsOf('account', service.workspaceId)
    const [projectId] = await idsOf('project', service.workspaceId)
    const named = { description: 'x', contactId, accountId, projectId }
    const answer = await service.submit('/feedbacks', named, { token: other.token })
    assert.deepEqual(Object.keys(answer.body.feedback), ['id', 'description'])
    const [row] = await service.sql`
      select contact_id, account_id, project_id from feedback where id = ${answer.body.feedback.id}`
    assert.deepEqual({ ...row }, { contact_id: null, account_id: null, project_id: null })
  })

  it("do not see each other's submissions", async () => {
    const { headers } = await service.submit('/feedbacks', { description: 'x' })
    const path = `/api/v1/submissions/${headers.get('submission-id')}`
    const ask = (token: string) => service.request(path, undefined, { method: 'GET', token })
    assert.equal((await ask(service.accessToken)).status, 200)
    assert.equal((await ask(other.token)).status, 404)
  })

  it('purge their own contacts alone', async () => {
    const purge = await service.post('/contacts/purge', { id: 'contact', email: EMAIL }, { token: other.token })
    assert.equal(purge.status, 200, purge.text)
    assert.equal(await service.settled(purge), 'applied')
    assert.deepEqual(await idsOf('contact', other.id), [])
    assert.equal((await idsOf('contact', service.workspaceId)).length, 1)
    assert.equal((await idsOf('message', service.workspaceId)).length, 1)
  })
})
