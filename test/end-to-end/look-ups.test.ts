import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type OwnWorkspace, ownWorkspace } from '../support/own-workspace.ts'
import { sharedService } from '../support/shared-service.ts'

const service = await sharedService()
after(() => service.stop())

type Query = Readonly<Record<string, string>>
type Found = { readonly name?: string; readonly externalIds: readonly object[] }

describe('look-ups by the keys of a contact or account', () => {
  let own: OwnWorkspace
  before(async () => {
    own = await ownWorkspace({ sql: service.all, urls: service.urls })
    const identify = (id: string, source: string, properties: object) =>
      own.submit('/contacts/identify', { id, source, properties })
    await identify('7', 'crm', { $name: 'Ann', $email: 'Ann@Example.org' })
    await identify('7', 'shop', { $name: 'Bob' })
    await identify('8', 'crm', { $name: 'Cem', $email: 'ann@example.org' })
    await own.submit('/feedbacks', { description: 'x', contact: { email: 'dee@example.org', name: 'Dee' } })
    await own.submit('/accounts/identify', {
      id: '7',
      properties: { $name: 'Acme  Ltd', $domain: 'https://www.Acme.example/x' },
    })
    await own.submit('/feedbacks', {
      description: 'x',
      account: { name: 'Soft\u00ADWorks', domain: 'softworks.example' },
    })
  })
  const find = async (path: string, query: Query, token = own.readToken) => {
    const answer = await service.get(`/api/v1/${path}?${new URLSearchParams(query)}`, { token })
    assert.equal(answer.status, 200, answer.text)
    return { found: answer.body[path] as unknown as Found[], next: answer.body.next as string | null }
  }
  const names = async (...asked: Parameters<typeof find>): Promise<string[]> =>
    (await find(...asked)).found.map(({ name = '' }) => name)

  it('find customers by external id, in any source or in one, and by email', async () => {
    const stored = await service.all<{ source: string; name: string }[]>`
      select e.source, c.name from contact_external_id as e
      join contact as c on c.workspace_id = e.workspace_id and c.id = e.contact_id
      where e.workspace_id = ${own.workspaceId} and e.external_id = '7'`
    assert.deepEqual(
      (await names('customers', { externalId: '7' })).toSorted(),
      [...new Set(stored.map(({ name }) => name))].toSorted(),
    )
    for (const { source, name } of stored) {
      assert.deepEqual(await names('customers', { externalId: '7', source }), [name])
    }
    assert.ok(stored.length > 0)
    assert.deepEqual(await names('customers', { externalId: '7', source: 'elsewhere' }), [])
    assert.deepEqual(await names('customers', { externalId: '9' }), [])
    assert.deepEqual(await names('customers', { email: ' Dee <DEE@example.org>' }), ['Dee'])
    assert.ok((await names('customers', { email: 'ANN@example.org' })).includes('Ann'))
    assert.deepEqual(await names('customers', { email: 'dee@example.org', externalId: '7' }), [])
  })

  it('find accounts by external id, domain and name', async () => {
    const matching: Query[] = [
      { externalId: '7' },
      { externalId: '7', source: 'API' },
      { domain: 'acme.example' },
      { domain: 'HTTPS://www.acme.example:443/path' },
      { name: ' Acme Ltd' },
      { name: 'Acme Ltd', domain: 'acme.example', externalId: '7' },
    ]
    for (const query of matching) assert.deepEqual(await names('accounts', query), ['Acme  Ltd'], JSON.stringify(query))
    assert.deepEqual(await names('accounts', { name: 'SoftWorks' }), ['Soft\u00ADWorks'])
    const others: Query[] = [
      { externalId: '7', source: 'crm' },
      { domain: 'x.example' },
      { name: 'acme ltd' },
      { name: 'Acme Ltd', domain: 'softworks.example' },
    ]
    for (const query of others) assert.deepEqual(await names('accounts', query), [], JSON.stringify(query))
  })

  it('come page by page, in both orders, and in the own workspace only', async () => {
    await own.submitAll(
      Array.from({ length: 7 }, (_, at) => ({
        operation: 'identify_contact',
        body: { id: `many-${at}`, properties: { $name: `${at}`, $email: 'many@example.org' } },
      })),
    )
    const { found } = await find('customers', { email: 'many@example.org' })
    const all = found.map(({ name }) => name)
    assert.deepEqual(await names('customers', { email: 'many@example.org', order: 'oldest' }), all.toReversed())
    const walked: (string | undefined)[] = []
    for (let next: string | null = ''; next !== null;) {
      const page = await find('customers', { email: 'many@example.org', limit: '3', ...(next && { next }) })
      walked.push(...page.found.map(({ name }) => name))
      next = page.next
    }
    assert.deepEqual(walked, all)
    const [{ stored }] = await service.all<[{ stored: number }]>`
      select count(*)::int as stored from contact_email
      where workspace_id = ${own.workspaceId} and email = 'many@example.org'`
    assert.equal(all.length, stored)
    assert.deepEqual(await names('customers', { externalId: '7' }, service.readToken), [])
  })

  it('refuse a key that counts as absent, and a source alone', async () => {
    for (const [path, query, at] of [
      ['customers', 'email=ann', 'email'],
      ['customers', 'email=', 'email'],
      ['customers', 'externalId=undefined', 'externalId'],
      ['customers', 'source=crm', 'source'],
      ['customers', 'name=Ann', 'name'],
      ['customers', 'domain=acme.example', 'domain'],
      ['accounts', 'domain=%20', 'domain'],
      ['accounts', 'name=null', 'name'],
      ['accounts', 'source=API&name=Acme', 'source'],
      ['accounts', 'email=ann@example.org', 'email'],
      ['projects', 'name=x', 'name'],
    ] as const) {
      const { status, body } = await service.get(`/api/v1/${path}?${query}`, { token: own.readToken })
      assert.deepEqual(
        [status, (body.error as unknown as { path: string }[]).map((problem) => problem.path)],
        [400, [at]],
        query,
      )
    }
  })
})
