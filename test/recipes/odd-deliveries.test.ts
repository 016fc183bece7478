import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { idleService, type SharedService, sharedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'
import { installRecipes, settingsOf, startReceiver } from './running-recipe.ts'
import { rowsOf } from './stored-rows.ts'
import { base64Signature, type Headers, hexSignature, type Sign, SIGNS, USER_SECRET } from './vendor-signs.ts'

/** The headers of Zendesk, with another invocation id at each call. */
const withNewInvocation: Sign = (bytes, key) => ({
  ...SIGNS['zendesk']!(bytes, key),
  'x-zendesk-webhook-invocation-id': randomBytes(4).toString('hex'),
})

describe('receivers of odd deliveries', () => {
  const directory = temporaryDirectory()
  const secret = randomBytes(20).toString('hex')
  let service: SharedService
  let environment: Readonly<Record<string, string>>
  before(async () => {
    service = await sharedService()
    environment = settingsOf(service, secret)
    await installRecipes(directory)
  })
  after(() => service?.stop())

  const { rowOf, contact, feedback } = rowsOf(() => service)

  /** Delivers payloads to a recipe, which answers each with 200. */
  const deliverAll = async (file: string, sign: Sign, payloads: readonly unknown[]): Promise<void> => {
    await using receiver = await startReceiver(file, { directory, runtime: 'Bun', environment })
    assert.equal((await fetch(receiver.url, { method: 'HEAD' })).status, 200)
    for (const payload of payloads) {
      const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
      const response = await fetch(receiver.url, { method: 'POST', headers: sign(body, secret), body })
      assert.equal(response.status, 200, `${body} was answered ${await response.text()}`)
    }
  }

  it('segment.ts fills a missing name or website of a company with its id, and stores reviews whose delivery has no id', async () => {
    const identify = (id: string, more: object) => ({ type: 'identify', messageId: `i-${id}`, userId: id, ...more })
    const group = (id: string, traits: object) => ({ type: 'group', messageId: `g-${id}`, groupId: 17, traits })
    const review = (id: string) => ({
      type: 'track',
      messageId: null,
      event: 'Product Reviewed',
      properties: { review_id: id, review_body: 'words' },
    })
    await deliverAll('segment.ts', SIGNS['segment']!, [
      { ...identify('null', { traits: { company: { id: 'co-1', name: 'Initech' } } }), userId: null },
      identify('u-co', { traits: { company: { name: 'No id' } } }),
      group('website', { website: 'www.globex.example' }),
      // Names of Object.prototype are ordinary events.
      ...['constructor', '__proto__', 'toString'].map((event) => ({ type: 'track', messageId: `e-${event}`, event })),
      // Deliveries without an id do not share one.
      ...['of-first', 'of-second'].map(review),
      group('name', { name: 'Globex', website: 'https://globex.example/' }),
      group('plan', { plan: 'team' }),
    ])
    for (const id of ['of-first', 'of-second']) assert.equal((await feedback('app', id))['description'], 'words')
    assert.deepEqual((await contact('app', 'u-co'))['properties'], { company: { name: 'No id' } })
    const accounts = `select name, domain from account join account_external_id on account_id = id where external_id =`
    assert.deepEqual(await rowOf(`${accounts} 'co-1'`), { name: 'Initech', domain: 'co-1' })
    await until(
      'the plan is stored',
      async () => (await service.sql`select from account where properties ->> 'plan' = 'team'`).count > 0,
    )
    assert.deepEqual(await rowOf(`${accounts} '17'`), { name: 'Globex', domain: 'globex.example' })
    const others = `select 1 as found from feedback where source_data ->> 'event' <> 'Product Reviewed'`
    assert.equal((await service.sql.unsafe(others)).length, 0)
  })

  it('typeform.ts ignores a user id that is a placeholder, or that the application has not signed', async () => {
    const response = (id: string, hidden: object | null, email: string) => ({
      event_id: id,
      event_type: 'form_response',
      form_response: {
        form_id: 'f',
        token: id,
        submitted_at: '2026-01-01T10:00:00Z',
        hidden,
        definition: { title: 'Survey' },
        answers: [{ type: 'email', email, field: { id: 'm', type: 'email' } }],
      },
    })
    await service.submit('/contacts/identify', { id: 'victim', source: 'app', properties: { $email: 'v@x.example' } })
    await deliverAll('typeform.ts', SIGNS['typeform']!, [
      response('t-forged', { user_id: 'victim' }, 'attacker@x.example'),
      response('t-bad', { user_id: 'victim', user_signature: '00' }, 'attacker@x.example'),
      response('t-empty', { user_id: '' }, 'p1@x.example'),
      response('t-zero', { user_id: '0', user_signature: hexSignature(USER_SECRET, '0') }, 'p2@x.example'),
      response('t-none', null, 'p3@x.example'),
    ])
    const emailQuery = `select source_id, email from feedback join contact on contact.id = contact_id where title = 'Survey' order by 1`
    await until('all records are stored', async () => (await service.sql.unsafe(emailQuery)).length === 5)
    assert.deepEqual(
      (await service.sql.unsafe<{ email: string }[]>(emailQuery)).map(({ email }) => email),
      ['attacker@x.example', 'p1@x.example', 'attacker@x.example', 'p3@x.example', 'p2@x.example'],
    )
    assert.equal((await contact('app', 'victim'))['email'], 'v@x.example')
  })

  it('typeform.ts has the words of "other" answers in the description, and a placeholder is no id', async () => {
    const field = (id: string, type: string) => ({ id, type })
    const response = (token: string, answers: readonly object[]) => ({
      event_id: `e-${token}`,
      event_type: 'form_response',
      form_response: { token, submitted_at: 1769940000, answers },
    })
    const other = { type: 'choice', choice: { other: 'Something of my own' }, field: field('why', 'multiple_choice') }
    const others = { type: 'choices', choices: { labels: ['A'], other: 'and C' }, field: field('b', 'multiple_choice') }
    const short = { type: 'text', text: 'Short', field: field('s', 'short_text') }
    const long = { type: 'text', text: 'Long words', field: field('l', 'long_text') }
    await deliverAll('typeform.ts', SIGNS['typeform']!, [
      response('other-1', [other, short, others]),
      response('other-2', [long, short, other]),
      response('{{token}}', [short]),
    ])
    const first = await feedback('typeform', 'other-1')
    assert.equal(first['description'], 'Something of my own\n\nand C')
    assert.equal((first['created_at'] as Date).toISOString(), '2026-02-01T10:00:00.000Z')
    assert.equal((await feedback('typeform', 'other-2'))['description'], 'Long words\n\nSomething of my own')
    assert.equal((await feedback('typeform', 'e-{{token}}'))['description'], 'Short')
  })

  it('intercom.ts keeps a message with files alone, and zendesk.ts takes no unfilled part of a template for a person', async () => {
    const author = { type: 'user', id: 'u-51' }
    const file = {
      type: 'upload',
      name: 'invoice.pdf',
      url: 'https://files.example/1',
      content_type: 'application/pdf',
    }
    const parts = [
      { id: 2, body: null, attachments: [file], author, created_at: 1767262000 },
      { id: 3, body: null, attachments: [], part_type: 'close', author, created_at: 1767262001 },
    ]
    const item = {
      type: 'conversation',
      id: 51,
      created_at: 1767261600,
      source: { id: 1, body: 'See the file', attachments: [], author },
      conversation_parts: { conversation_parts: parts },
    }
    await deliverAll('intercom.ts', SIGNS['intercom']!, [{ id: 'n-51', topic: 'x', data: { item } }])
    const { name, url, content_type } = file
    const stored = `select raw_data from message where content = 'invoice.pdf'`
    assert.deepEqual(await rowOf(stored), { raw_data: { attachments: [{ name, url, content_type }] } })
    const messages = `select count(*)::int as n from message join conversation on conversation.id = conversation_id
      where conversation.external_id = '51'`
    assert.deepEqual(await rowOf(messages), { n: 2 })
    const requester = { id: '{{ticket.requester.id}}', name: '#N/A', email: '{{ticket.requester.email}}' }
    const ticket = { id: '5171', subject: 'S', description: 'Body', created_at: '2026-01-01T10:00:00Z' }
    await deliverAll('zendesk.ts', withNewInvocation, [{ ticket, requester, organization: '(null)' }])
    const { contact: who, account } = await feedback('zendesk', '5171')
    assert.deepEqual([who, account], [null, null])
  })

  it('zendesk.ts and intercom.ts keep a text whose author is missing, and intercom.ts keeps a rating that later deliveries lack', async () => {
    const ticket = { id: 5160, subject: 'S', description: 'Body', created_at: '2026-01-01T10:00:00Z' }
    await deliverAll('zendesk.ts', withNewInvocation, [
      { ticket, requester: { id: '', name: '', email: '' }, organization: '' },
      { ticket: { ...ticket, id: '5161' } },
      { ticket: { ...ticket, id: '5162' }, requester: { name: 'Bo' } },
    ])
    for (const [id, who] of Object.entries({ 5160: null, 5161: null, 5162: 'Bo' }))
      assert.equal((await feedback('zendesk', id))['contact'], who)
    const author = { type: 'user', id: null }
    const item = {
      type: 'conversation',
      id: 41,
      created_at: 1767261600,
      source: { id: 1, body: 'Where is my invoice?', author: { type: 'user', id: 'u-41' } },
      conversation_parts: {
        conversation_parts: [
          { id: 2, body: 'thanks', created_at: 1767262000, author },
          { id: 3, body: 'bye', created_at: 1767262001 },
        ],
      },
      conversation_rating: { rating: null },
    }
    const rated = { ...item, updated_at: 1767265200, conversation_rating: { rating: 5, remark: 'well done' } }
    const { conversation_rating: _, ...part } = { ...item, updated_at: 1767268800 }
    const late = [{ id: 4, body: 'still here', created_at: 1767262002 }]
    const { created_at: __, ...timeless } = { ...item, conversation_parts: { conversation_parts: late } }
    const ofSameSecond = { ...item, updated_at: rated.updated_at }
    const sent = [rated, ofSameSecond, item, part, timeless].map((delivered, at) => ({
      id: `n-41-${at}`,
      topic: 'x',
      data: { item: delivered },
    }))
    await deliverAll('intercom.ts', SIGNS['intercom']!, sent)
    const messages = `select content, contact_id is null as "hasNoContact" from message where conversation_id in
      (select id from conversation where external_id = '41')`
    await until('the messages are stored', async () => (await service.sql.unsafe(messages)).length === 5)
    const conversation = `select rating::float8, updated_at from conversation where external_id = '41'`
    assert.deepEqual(await rowOf(conversation), { rating: 5, updated_at: new Date('2026-01-01T11:00:00Z') })
    const stored = await service.sql.unsafe<{ content: string; hasNoContact: boolean }[]>(messages)
    assert.deepEqual(
      stored.filter(({ hasNoContact }) => !hasNoContact).map(({ content }) => content),
      ['Where is my invoice?'],
    )
  })

  it('keep integers that JavaScript would round, and texts with bare line breaks, unchanged', async () => {
    // The first two are equal as JavaScript numbers.
    const large = ['9912140633506421', '9912140633506420', '-12345678901234567890', '1e400']
    const ofEach = (template: string): string[] => large.map((number) => template.replaceAll('BIG', number))
    const answers = '[{"type":"number","number":BIG,"field":{"id":"n","type":"number"}}]'
    const message = '{"id":BIG,"body":"BIG","author":{"type":"user","id":BIG}}'
    await deliverAll('segment.ts', SIGNS['segment']!, [
      ...ofEach('{"type":"track","event":"Product Reviewed","properties":{"review_id":BIG,"rating":BIG}}'),
      ...ofEach('{"type":"identify","userId":BIG,"traits":{"contractValue":BIG}}'),
    ])
    await deliverAll('typeform.ts', SIGNS['typeform']!, [
      ...ofEach(`{"event_type":"form_response","form_response":{"token":BIG,"answers":${answers}}}`),
    ])
    await deliverAll('zendesk.ts', withNewInvocation, [
      ...ofEach('{"ticket":{"id":BIG,"description":"a\nb"},"requester":{"id":BIG}}'),
    ])
    await deliverAll('intercom.ts', SIGNS['intercom']!, [
      ...ofEach(`{"data":{"item":{"type":"conversation","id":BIG,"created_at":1767261600,"source":${message}}}}`),
    ])
    for (const id of large) {
      assert.equal((await feedback('app', id))['rating'], null)
      assert.deepEqual((await contact('app', id))['properties'], { contractValue: id })
      assert.deepEqual((await feedback('typeform', id))['source_data'], { answers: { n: id } })
      assert.equal((await feedback('zendesk', id))['description'], 'a\nb')
      const sent = `select m.external_id, c.external_id as conversation from message as m
        join conversation as c on c.id = conversation_id where content = '${id}'`
      assert.deepEqual(await rowOf(sent), { external_id: id, conversation: id })
    }
  })

  it('intercom.ts prints at its start how many conversations the service accepts', async () => {
    const limited = await idleService()
    const given = { ...settingsOf(limited, secret), FEEDBACK_URL: `${limited.urls[0]!}/api/v1/` }
    await using receiver = await startReceiver('intercom.ts', { directory, runtime: 'Bun', environment: given })
    await until('it warns', async () => receiver.warnings().includes('takes 10 conversations in 60 s'))
    await limited.stop()
  })

  for (const vendor of ['segment', 'zendesk', 'intercom', 'typeform']) {
    it(`${vendor}.ts accepts signatures of the secret and the former secret only, and ${vendor === 'segment' ? 'ignores' : 'refuses'} a delivery without content`, async () => {
      const given = { ...environment, WEBHOOK_SECRET_BEFORE: 'former' }
      await using receiver = await startReceiver(`${vendor}.ts`, { directory, runtime: 'Bun', environment: given })
      const body = JSON.stringify({ type: 'another event', detail: {}, data: { item: { type: 'ping' } } })
      const statusOf = async (headers: Headers): Promise<number> =>
        (await fetch(receiver.url, { method: 'POST', headers, body })).status
      const sign = SIGNS[vendor]!
      const statuses = await Promise.all([secret, 'former', 'never'].map((key) => statusOf(sign(body, key))))
      assert.deepEqual(statuses, [200, 200, 401])
      const types = { type: 'zen:event-type:ticket.created', event_type: 'form_response' }
      const nothing = JSON.stringify({ ...types, detail: false, data: [], form_response: '' })
      const answer = await fetch(receiver.url, { method: 'POST', headers: sign(nothing, secret), body: nothing })
      assert.equal(answer.status, vendor === 'segment' ? 200 : 422)
      if (vendor !== 'zendesk') return
      for (const at of ['2021-03-25T05:09:27Z', '2999-03-25T05:09:27Z', '', 'today']) {
        const signature = base64Signature(secret, `${at}${body}`)
        const time = 'x-zendesk-webhook-signature-timestamp'
        assert.equal(await statusOf({ [time]: at, 'x-zendesk-webhook-signature': signature }), 401, at)
      }
    })
  }
})
