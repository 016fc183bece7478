import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { DeclaredField } from '../../contract/source-settings.ts'
import { type Agent, agentAt } from '../support/agent.ts'
import { type OwnWorkspace, ownWorkspace } from '../support/own-workspace.ts'
import type { Answer } from '../support/service.ts'
import { sharedService } from '../support/shared-service.ts'

const service = await sharedService()
after(() => service.stop())

type Listed = { description: string; fields?: Record<string, unknown> }
const problemsOf = ({ status, body }: Answer) => {
  assert.equal(status, 400)
  return (body.error as unknown as { path: string; message: string }[]).map(({ path, message }) => [path, message])
}

describe('declared fields', () => {
  let own: OwnWorkspace
  let agent: Agent
  const get = (path: string): Promise<Answer> => service.get(`/api/v1${path}`, { token: own.readToken })
  const listed = async (query: string): Promise<string[]> => {
    const { status, body, text } = await get(`/feedbacks?order=oldest&${query}`)
    assert.equal(status, 200, text)
    return (body.feedbacks as unknown as Listed[]).map(({ description }) => description)
  }
  const counted = async (query: string): Promise<unknown[][]> => {
    const { status, body, text } = await get(`/counts?${query}`)
    assert.equal(status, 200, text)
    return (body.counts as unknown as Record<string, unknown>[]).map((group) =>
      Object.entries(group).flatMap(([name, value]) => (/^(?:field|tag|feedback$)/.test(name) ? [value] : [])),
    )
  }
  const declare = async (source: string, fields: DeclaredField[]): Promise<void> => {
    const response = await fetch(`${service.urls[0]}/api/v1/sources/${source}`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${own.adminToken}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ fields }),
    })
    assert.equal(response.status, 200)
    const { source: set } = (await response.json()) as { source: { fields: unknown } }
    assert.deepEqual(set.fields, fields)
  }

  before(async () => {
    own = await ownWorkspace({ sql: service.all, urls: service.urls })
    const about = (description: string, contactId: string, data: { source: string; sourceData: object }) => ({
      operation: 'create_feedback',
      body: { description, ...data, contactId, isExternalContactId: true, tags: [description] },
    })
    await own.submitAll([
      {
        operation: 'identify_account',
        body: { id: 'a', properties: { $name: 'Acme', $domain: 'acme.example', plan: 'trial', seats: 3 } },
      },
      {
        operation: 'identify_account',
        body: { id: 'b', properties: { $name: 'Bolt', $domain: 'bolt.example', plan: 'paid' } },
      },
      { operation: 'identify_contact', body: { id: 'ada', properties: { role: 'owner' }, account: { id: 'a' } } },
      { operation: 'identify_contact', body: { id: 'bob', properties: {}, account: { id: 'b' } } },
      about('one', 'ada', { source: 'Shop', sourceData: { context: { page: '/cart' } } }),
      about('two', 'bob', { source: 'Shop', sourceData: { context: { page: '/help' } } }),
      about('three', 'ada', { source: 'Mail', sourceData: { page: '/cart' } }),
      about('four', 'eve', { source: 'Mail', sourceData: {} }),
    ])
    agent = await agentAt(service.urls[0]!, own.readToken)
  })
  after(() => agent?.client.close())

  it('are refused while no source declares them', async () => {
    assert.deepEqual(problemsOf(await get('/feedbacks?field.plan=trial')), [
      ['field.plan', 'field.plan is not declared; the declared fields are: none, see PUT /sources/{source}'],
    ])
    assert.deepEqual(problemsOf(await get('/counts?by=field.plan')), [
      ['by', 'field.plan is not declared; the declared fields are: none, see PUT /sources/{source}'],
    ])
  })

  it('filter and count the feedback that is stored, in lists, counts, single records, the feed and SQL', async () => {
    await declare('Shop', [
      { name: 'page', path: 'context.page', of: 'feedback' },
      { name: 'plan', path: 'plan', of: 'account' },
    ])
    await declare('Mail', [
      { name: 'page', path: 'page', of: 'feedback' },
      { name: 'role', path: 'role', of: 'contact' },
      { name: 'seats', path: 'seats', of: 'account' },
    ])
    assert.deepEqual(await listed('field.page=/cart'), ['one', 'three'])
    assert.deepEqual(await listed('field.plan=trial&source=Mail'), ['three'])
    assert.deepEqual(await listed('field.page=/cart&field.seats=3&field.role=owner'), ['one', 'three'])
    assert.deepEqual(await listed('field.plan=Trial'), [])
    assert.deepEqual(await counted('by=field.plan&order=key'), [
      [null, 1],
      ['paid', 1],
      ['trial', 2],
    ])
    assert.deepEqual(await counted('by=field.page,field.seats&field.plan=trial'), [['/cart', '3', 2]])
    assert.deepEqual(await counted('by=tag,field.plan&field.page=/help'), [['two', 'paid', 1]])
    const fields = { one: { page: '/cart', plan: 'trial', role: 'owner', seats: 3 }, four: undefined }
    const { feedbacks } = (await get('/feedbacks?limit=500')).body
    const { changes } = (await get('/changes?limit=500')).body as unknown as { changes: { record?: Listed }[] }
    const rows = await service.all<Listed[]>`
      select description, fields from feedback_view where workspace_id = ${own.workspaceId}`
    for (const records of [feedbacks as unknown as Listed[], changes.flatMap(({ record }) => record ?? []), rows])
      for (const [description, values] of Object.entries(fields))
        assert.deepEqual(records.find((each) => each.description === description)?.fields ?? undefined, values)
  })

  it('that no source declares are refused with the declared names', async () => {
    const known = 'the declared fields are: field.page, field.plan, field.role, field.seats'
    for (const [query, path, name] of [
      ['/feedbacks?field.page=x&field.Plan=trial', 'field.Plan', 'field.Plan'],
      ['/counts?by=tag,field.tier', 'by', 'field.tier'],
      ['/counts?by=tag&field.=x', 'field.', 'field.'],
    ] as const)
      assert.deepEqual(problemsOf(await get(query)), [[path, `${name} is not declared; ${known}`]])
    for (const [query, path] of [
      ['/feedbacks?field.plan=trial&field.plan=paid', 'field.plan'],
      ['/feedbacks?field.plan=', 'field.plan'],
      ['/customers?field.plan=trial', 'field.plan'],
      ['/counts?by=field.a%20plan', 'by'],
      ['/counts?by=field.plan,field.plan', 'by'],
    ] as const)
      assert.deepEqual(
        problemsOf(await get(query)).map(([at]) => at),
        [path],
        query,
      )
  })

  it('page through a list in any order of the filters', async () => {
    const first = await get('/feedbacks?limit=1&field.page=/cart&field.plan=trial')
    const second = await get(`/feedbacks?limit=1&field.plan=trial&field.page=/cart&next=${first.body.next}`)
    assert.deepEqual((second.body.feedbacks as unknown as Listed[])[0]?.description, 'one')
    assert.deepEqual(
      problemsOf(await get(`/feedbacks?limit=1&field.plan=paid&next=${first.body.next}`))[0]?.[0],
      'next',
    )
  })

  it('are filters and dimensions of agents', async () => {
    const { feedback } = await agent.call('list_feedback', {
      filters: { fields: { plan: 'trial', seats: 3 } },
      order: 'oldest',
    })
    assert.deepEqual(
      (feedback as unknown as { quote: { text: string }; fields: object }[]).map(({ quote, fields }) => [
        quote.text,
        fields,
      ]),
      ['one', 'three'].map((text) => [text, { page: '/cart', plan: 'trial', role: 'owner', seats: 3 }]),
    )
    const { groups } = await agent.call('count_feedback', {
      by: ['field.plan', 'field.page'],
      filters: { fields: { role: 'owner' } },
    })
    assert.deepEqual(
      (groups as unknown as Record<string, unknown>[]).map((group) => [
        group['field.plan'],
        group['field.page'],
        group['feedback'],
      ]),
      [['trial', '/cart', 2]],
    )
    const compared = await agent.call('compare_periods', { by: 'field.plan' })
    assert.deepEqual(
      (compared.grows as unknown as { 'field.plan': string; after: { feedback: number } }[]).map((group) => [
        group['field.plan'],
        group.after.feedback,
      ]),
      [
        ['trial', 2],
        ['paid', 1],
        [null, 1],
      ],
    )
  })

  it('have the values that contacts and accounts have now', async () => {
    await own.submit('/accounts/identify', {
      id: 'b',
      properties: { $name: 'Bolt', $domain: 'bolt.example', plan: 'trial' },
    })
    assert.deepEqual(await listed('field.plan=trial'), ['one', 'two', 'three'])
  })
})
