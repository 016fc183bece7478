import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sharedService } from '../support/shared-service.ts'
import { ownWorkspace } from '../support/own-workspace.ts'
import type { Answer } from '../support/service.ts'

const service = await sharedService()
after(() => service.stop())

const PATHS = ['/feedbacks', '/customers', '/accounts', '/projects', '/feedback-categories', '/conversations']
const CREATED_AT = '2026-01-01T00:00:00Z'
type Read = Readonly<Record<string, string>>
const rowsOf = (value: unknown): Read[] => value as Read[]
type Change = { position: number; kind: string; id: string; deleted: boolean }
const UNKNOWN = '21e220a7-39de-8ea2-adec-1b9ebe43cbbd'

describe('reading over HTTP', () => {
  const get = (path: string, { token = service.readToken, headers = {} } = {}): Promise<Answer> =>
    service.get(`/api/v1${path}`, { token, headers })
  const read = async (path: string): Promise<Answer['body']> => {
    const answer = await get(path)
    assert.equal(answer.status, 200, `${path}: ${answer.text}`)
    return answer.body
  }
  /** The records of all pages of a list. */
  const readAll = async (path: string, member: string, limit = 500): Promise<Read[]> => {
    const records: Read[] = []
    for (let next = ''; ;) {
      const page = await read(`${path}${path.includes('?') ? '&' : '?'}limit=${limit}${next && `&next=${next}`}`)
      records.push(...rowsOf(page[member]))
      if (page.next === null) return records
      next = page.next
    }
  }

  it('records have the members of the interface first, and no members without a value', async () => {
    const sourceData = '{"url":"https://help.example.org/7","views":9007199254740991,"none":null}'
    const body =
      `{"description":"The <b>export</b> is slow","title":"Export","rating":3,"source":"Help","sourceId":"7",` +
      `"contact":{"email":"Ann@example.org","name":"Ann"},"account":{"name":"Acme","contractValue":1200.5},` +
      `"project":{"name":"Reports"},"tags":["speed"],"createdAt":"2026-01-02T03:04:05.678Z","sourceData":${sourceData}}`
    const { feedback } = (await service.submit('/feedbacks', body)).body
    const answer = await get(`/feedbacks/${feedback.id}`)
    const { acceptedAt, updatedAt, accountId, ...record } = answer.body.feedback
    assert.deepEqual(Object.keys(answer.body.feedback).slice(0, 7), [
      'id',
      'description',
      'customerId',
      'projectId',
      'rating',
      'sourceId',
      'sourceData',
    ])
    assert.deepEqual(record, {
      ...feedback,
      sourceData: JSON.parse(sourceData),
      title: 'Export',
      tags: ['speed'],
      tagsGenerated: false,
      isHidden: false,
      source: 'Help',
      customerName: 'Ann',
      accountName: 'Acme',
      projectName: 'Reports',
      createdAt: '2026-01-02T03:04:05.678000Z',
    })
    assert.equal(acceptedAt, updatedAt)
    const { customer } = await read(`/customers/${record.customerId}`)
    assert.deepEqual([customer.id, customer.name, customer.email], [record.customerId, 'Ann', 'Ann@example.org'])
    assert.equal((await read(`/accounts/${accountId}`)).account.contractValue, 1200.5)
    const { project } = await read(`/projects/${record.projectId}`)
    assert.deepEqual(Object.keys(project), ['id', 'name', 'createdAt'])
    const categories = await readAll('/feedback-categories', 'feedbackCategories')
    assert.ok(categories.some((category) => category['title'] === 'speed'))
    assert.deepEqual(Object.keys(categories[0]!), ['id', 'title'])
  })

  it('a conversation comes with its messages, the oldest first, page by page', async () => {
    const messages = Array.from({ length: 7 }, (_, at) => ({
      id: `m${at}`,
      incoming: at % 2 === 0,
      content: `Message ${at}`,
      createdAt: `2026-01-01T00:00:0${6 - at}Z`,
      contactId: 'pat',
    }))
    const contacts = [{ id: 'pat', properties: { $name: 'Pat' } }]
    await service.submit('/conversations', { id: 'paged', source: 'chat', createdAt: CREATED_AT, contacts, messages })
    const conversations = await readAll('/conversations', 'conversations')
    const { id, customerIds } = conversations.find((conversation) => conversation['externalId'] === 'paged')!
    const paged = await readAll(`/conversations/${id}`, 'messages', 3)
    assert.deepEqual(
      paged.map((message) => message['content']),
      messages.toReversed().map(({ content }) => content),
    )
    assert.deepEqual(new Set(paged.map((message) => message['customerId'])), new Set(customerIds))
    const newest = await read(`/conversations/${id}?order=newest&limit=1`)
    assert.equal(newest.messages[0].content, 'Message 0')
  })

  it('an id that was merged leads to the customer or account that absorbed it, also as a filter', async () => {
    const [email, domain] = ['merged@example.org', 'merged.example']
    const body = { description: 'Mine', contact: { email }, account: { domain } }
    const { id } = (await service.submit('/feedbacks', body)).body.feedback
    const { feedback: former } = await read(`/feedbacks/${id}`)
    await service.submit('/contacts/identify', { id: 'merged', properties: { $email: email } })
    await service.submit('/accounts/identify', { id: 'merged', properties: { $name: 'Merged', $domain: domain } })
    const { customer } = await read(`/customers/${former.customerId}`)
    const { account } = await read(`/accounts/${former.accountId}`)
    for (const { externalIds } of [customer, account]) assert.deepEqual(externalIds, [{ source: 'API', id: 'merged' }])
    for (const filter of [`customerId=${former.customerId}`, `accountId=${former.accountId}`]) {
      const { feedbacks } = await read(`/feedbacks?${filter}`)
      assert.deepEqual(
        rowsOf(feedbacks).map((each) => [each['id'], each['customerId'], each['accountId']]),
        [[id, customer.id, account.id]],
      )
    }
    assert.ok(customer.id !== former.customerId && account.id !== former.accountId)
  })

  it('an unknown, malformed or repeated parameter, or a cursor of another list, is refused with its name', async () => {
    const { next } = await read('/feedbacks?limit=1')
    const refused: [query: string, path: string][] = [
      ['colour=red', 'colour'],
      ['Limit=1', 'Limit'],
      ['limit=0', 'limit'],
      ['limit=501', 'limit'],
      ['limit=1e1', 'limit'],
      ['limit=1&limit=2', 'limit'],
      ['order=latest', 'order'],
      ['customerId=ann', 'customerId'],
      ['ratingMin=0x1', 'ratingMin'],
      ['ratingMin=1e999', 'ratingMin'],
      ['ratingMin=Infinity', 'ratingMin'],
      ['ratingMax=', 'ratingMax'],
      ['createdFrom=2026-02-30T00:00:00Z', 'createdFrom'],
      ['createdTo=yesterday', 'createdTo'],
      ['source=', 'source'],
      ['q=%20', 'q'],
      ['q=%00', 'q'],
      ['q=%E2%80%8B', 'q'],
      ['tag=%00', 'tag'],
      [`next=${next}&order=oldest`, 'next'],
      [`next=${next}&tag=x`, 'next'],
      ['next=x', 'next'],
    ]
    for (const [query, path] of refused) {
      const { status, body } = await get(`/feedbacks?${query}`)
      assert.equal(status, 400, query)
      assert.deepEqual(
        rowsOf(body.error).map((problem) => problem['path']),
        [path],
        query,
      )
    }
    assert.equal((await get(`/customers?source=x`)).status, 400)
    assert.equal((await get(`/customers?next=${next}`)).status, 400)
    assert.equal((await get('/changes?after=-1')).status, 400)
    assert.equal((await get('/changes?limit=501')).status, 400)
  })

  it('a number is one in every form in which a program writes it', async () => {
    const { id } = (await service.submit('/feedbacks', { description: 'Rated', rating: 0.1 + 0.2, source: 'Sums' }))
      .body.feedback
    for (const [filter, isFound] of [
      ['ratingMin=0.30000000000000004', true],
      ['ratingMax=0.30000000000000004', true],
      ['ratingMin=3.0000000000000004e-1', true],
      ['ratingMin=0.3000000000000001', false],
      ['ratingMax=1e15', true],
      ['ratingMax=1e%2B15', true],
      ['ratingMax=1e-7', false],
      ['ratingMin=-5e-324', true],
    ] as const) {
      const { feedbacks } = await read(`/feedbacks?source=Sums&${filter}`)
      assert.deepEqual(
        rowsOf(feedbacks).map((each) => each['id']),
        isFound ? [id] : [],
        filter,
      )
    }
  })

  it('a time whose offset lost its + is refused with the remedy', async () => {
    const { status, text } = await get('/feedbacks?createdFrom=2026-01-01T00:00:00+02:00')
    assert.equal(status, 400)
    assert.match(text, /createdFrom must be sent with %2B for the \+ of its offset/)
    assert.equal((await get('/feedbacks?createdFrom=2026-01-01T00:00:00%2B02:00')).status, 200)
    assert.match((await get('/feedbacks?createdTo=2026-01-01%2002:00')).text, /an existing date-time/)
  })

  it('a list goes on with the same filters in another order', async () => {
    const filters = ['createdFrom=2000-01-01T00:00:00Z', 'createdTo=2100-01-01T00:00:00Z']
    const { next } = await read(`/feedbacks?limit=1&${filters.join('&')}`)
    assert.equal((await get(`/feedbacks?next=${next}&${filters.toReversed().join('&')}`)).status, 200)
  })

  it('the tombstone of a merged account names the account that it means now, also after a further merge', async () => {
    const [name, domain] = ['Chained', 'chained.example']
    const accountOf = async (account: object): Promise<string> => {
      const { id } = (await service.submit('/feedbacks', { description: 'Ours', account })).body.feedback
      const { feedback } = await read(`/feedbacks/${id}`)
      return String(feedback.accountId)
    }
    const tombstoneOf = async (id: string): Promise<string | undefined> => {
      const { changes } = await read('/changes?limit=500')
      return rowsOf(changes).find((change) => change['id'] === id)?.['mergedInto']
    }
    const named = await accountOf({ name })
    const ofDomain = await accountOf({ domain })
    await service.submit('/feedbacks', { description: 'Both', account: { name, domain } })
    assert.equal(await tombstoneOf(named), ofDomain)
    await service.submit('/accounts/identify', { id: 'chained', properties: { $name: 'Other', $domain: domain } })
    const { account } = await read(`/accounts/${named}`)
    assert.notEqual(account.id, ofDomain)
    assert.deepEqual([await tombstoneOf(named), await tombstoneOf(ofDomain)], [account.id, account.id])
  })

  it('the change feed shows a purge only as tombstones, which name the removed records and nothing else', async () => {
    const email = 'leaving@example.org'
    await service.submit('/feedbacks', { description: 'Goodbye', contact: { email, name: 'Lea' }, tags: ['leaving'] })
    const purge = await service.submit('/contacts/purge', { email }, { token: service.adminToken })
    await service.settled(purge)
    const answer = await get('/changes?limit=500')
    assert.ok(!answer.text.includes('leaving') && !answer.text.includes('Goodbye') && !answer.text.includes('Lea'))
    const tombstones = (answer.body.changes as Change[]).filter(({ deleted }) => deleted).slice(-3)
    assert.deepEqual(tombstones.map(({ kind }) => kind).toSorted(), ['customer', 'feedback', 'feedback_category'])
    for (const tombstone of tombstones) assert.deepEqual(Object.keys(tombstone), ['position', 'kind', 'id', 'deleted'])
  })

  it('the change feed delays an empty answer until a record changes', async () => {
    // In a workspace of its own, where no tags of an earlier test change a record meanwhile.
    const quiet = await ownWorkspace({ sql: service.all, urls: service.urls })
    const changesOf = (query: string, headers = {}): Promise<Answer> =>
      get(`/changes?${query}`, { token: quiet.readToken, headers })
    const { body } = await changesOf('limit=500')
    const waiting = changesOf(`after=${body.next}`, { Prefer: 'wait=30' })
    await quiet.submit('/accounts/identify', { id: 'awaited' })
    const answer = await waiting
    assert.equal(answer.headers.get('Preference-Applied'), 'wait')
    assert.deepEqual(
      (answer.body.changes as Change[]).map(({ kind }) => kind),
      ['account'],
    )
    const empty = await changesOf(`after=${answer.body.next}`)
    assert.deepEqual(empty.body, { changes: [], next: answer.body.next })
  })

  it('the change feed shows the records of a batch in the order of its items', async () => {
    const { next } = await read('/changes?limit=500')
    const names = ['First', 'Second', 'Third']
    await service.submitAll(
      names.map(($name) => ({ operation: 'identify_contact', body: { id: $name, properties: { $name } } })),
    )
    const { changes } = await read(`/changes?after=${next}`)
    assert.deepEqual(
      (changes as { record: Read }[]).map(({ record }) => record['name']),
      names,
    )
  })

  it('a token reads only its own workspace', async () => {
    const other = await ownWorkspace({ sql: service.all, urls: service.urls })
    const { changes } = await read('/changes?limit=500')
    const idsOf = (kind: string): string[] =>
      rowsOf(changes)
        .filter((change) => change['kind'] === kind)
        .map(({ id }) => id!)
    const kinds = ['feedback', 'customer', 'account', 'project', 'feedback_category', 'conversation']
    for (const [at, path] of PATHS.entries()) {
      assert.deepEqual(Object.values((await get(path, { token: other.adminToken })).body), [[], null])
      for (const id of [...idsOf(kinds[at]!), UNKNOWN, 'no-id']) {
        assert.equal((await get(`${path}/${id}`, { token: other.adminToken })).status, 404)
      }
    }
    assert.deepEqual((await get('/changes', { token: other.adminToken })).body.changes, [])
  })
})
