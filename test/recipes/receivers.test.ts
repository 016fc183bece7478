import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'
import { unwilling, type UnwillingService } from '../support/unwilling.ts'
import * as documented from './documented-payloads.ts'
import { installRecipes, type Runtime, startReceiver } from './running-recipe.ts'
import { contactRow, feedbackRow, onlyRow } from './stored-rows.ts'

type Headers = Readonly<Record<string, string>>
type Sign = (bytes: string, secret: string) => Headers

const sha1 = (secret: string, signed: string): string => createHmac('sha1', secret).update(signed).digest('hex')
const sign256 = (secret: string, signed: string): string => createHmac('sha256', secret).update(signed).digest('hex')
const sha256 = (secret: string, signed: string): string => createHmac('sha256', secret).update(signed).digest('base64')

/** As the vendors say that they sign. */
const SIGNS: Readonly<Record<string, Sign>> = {
  segment: (bytes, secret) => ({ 'X-Signature': sha1(secret, bytes) }),
  rudderstack: (_, secret) => ({ Authorization: `Bearer ${secret}` }),
  zendesk: (bytes, secret) => {
    const at = new Date().toISOString()
    return {
      ...documented.ZENDESK_HEADERS,
      'x-zendesk-webhook-signature-timestamp': at,
      'X-Zendesk-Webhook-Signature': sha256(secret, `${at}${bytes}`),
    }
  },
  intercom: (bytes, secret) => ({ 'X-Hub-Signature': `sha1=${sha1(secret, bytes)}` }),
  typeform: (bytes, secret) => ({ 'Typeform-Signature': `sha256=${sha256(secret, bytes)}` }),
}

/** With which an application signs the ids of its users. */
const USER_SECRET = 'of the application'

describe('the receivers', () => {
  const directory = temporaryDirectory()
  const secret = randomBytes(20).toString('hex')
  let service: SharedService
  let between: UnwillingService
  let environment: Headers
  before(async () => {
    service = await sharedService()
    between = await unwilling(service.urls[0]!)
    environment = {
      FEEDBACK_URL: between.url,
      ACCESS_TOKEN: service.accessToken,
      WEBHOOK_SECRET: secret,
      USER_SECRET,
    }
    await installRecipes(directory)
  })
  after(async () => {
    between?.stop()
    await service?.stop()
  })

  const rowOf = (query: string) => onlyRow(service, query)
  const contact = (source: string, id: string) => contactRow(service, source, id)
  const feedback = (source: string, id: string) => feedbackRow(service, source, id)

  const receiver = (file: string, runtime: Runtime, test: (deliver: Deliver) => Promise<void>): void => {
    it(`${file} on ${runtime} takes what the documentation shows`, async () => {
      const { url, stop } = await startReceiver(file, { directory, runtime, environment })
      let wasPutOff = false
      try {
        const deliver: Deliver = async (sign, payload) => {
          const bytes = typeof payload === 'string' ? payload : JSON.stringify(payload)
          const post = async (headers: Headers): Promise<number> =>
            (
              await fetch(url, {
                method: 'POST',
                headers: { 'Content-Type': 'application/json', ...headers },
                body: bytes,
              })
            ).status
          const unsigned = [
            await post({}),
            await post(sign(bytes, 'another secret')),
            await post(sign(`${bytes} `, secret)),
          ]
          // A header that is the secret itself signs nothing.
          if (sign === SIGNS['rudderstack']) unsigned.pop()
          assert.deepEqual(new Set(unsigned), new Set([401]))
          // The very first attempt is put off, and a vendor may deliver once more.
          if (!wasPutOff) between.refuse(503)
          wasPutOff = true
          const seen = between.seen.length
          assert.deepEqual([await post(sign(bytes, secret)), await post(sign(bytes, secret))], [200, 200])
          return between.seen.slice(seen)
        }
        assert.equal((await fetch(url)).status, 405)
        await test(deliver)
      } finally {
        await stop()
      }
    })
  }
  type Deliver = (sign: Sign, payload: unknown) => Promise<readonly { key: string | undefined; body: string }[]>

  receiver('segment.ts', 'Bun', async (deliver) => {
    const sign = SIGNS['segment']!
    const keys = (await deliver(sign, documented.SEGMENT_IDENTIFY)).map(({ key }) => key)
    assert.deepEqual(new Set(keys), new Set([documented.SEGMENT_IDENTIFY.messageId]))
    // Segment's examples of identify and group have the same messageId, which no two events have.
    await deliver(sign, { ...documented.SEGMENT_GROUP, messageId: 'of-its-own' })
    await deliver(sign, documented.SEGMENT_TRACK)
    const { name, email, properties, account } = await until('the user is in the group', async () => {
      const row = await contact('app', '97980cfea0067')
      return row['account'] === null ? undefined : row
    })
    assert.deepEqual([name, email, account], ['Peter Gibbons', 'peter@example.com', '0e8c78ea9d97a7b8185e8632'])
    const { plan, logins, address } = documented.SEGMENT_IDENTIFY.traits
    assert.deepEqual(properties, { plan, logins, address })
    const { properties: traits, ...group } = await rowOf(
      `select name, domain, properties from account join account_external_id on account_id = id where external_id = '0e8c78ea9d97a7b8185e8632'`,
    )
    assert.deepEqual(group, { name: 'Initech', domain: '0e8c78ea9d97a7b8185e8632' })
    assert.deepEqual(traits, { industry: 'Technology', employees: 329, plan: 'enterprise', 'total billed': 830 })
    const { source_data: data, created_at: at, ...review } = await feedback('app', 'kdfjrj39fj39jf3')
    assert.deepEqual(review, {
      description: 'I love this product',
      title: null,
      rating: 5,
      account: null,
      contact: '97980cfea0067',
    })
    assert.deepEqual(data, { event: 'Product Reviewed', ...documented.SEGMENT_TRACK.properties })
    assert.equal((at as Date).toISOString(), documented.SEGMENT_TRACK.timestamp)
  })

  receiver('segment.ts', 'Deno', async (deliver) => {
    const sign = SIGNS['rudderstack']!
    await deliver(sign, documented.RUDDERSTACK_IDENTIFY)
    await deliver(sign, documented.RUDDERSTACK_GROUP)
    await deliver(sign, documented.RUDDERSTACK_TRACK)
    const row = await contact('app', 'my-user-id')
    assert.deepEqual(row, {
      name: 'User name',
      email: 'user@domain.com',
      properties: { plan: 'Enterprise' },
      account: 'company-A',
    })
    const { description, rating, contact: who } = await feedback('app', '86ac1cd43')
    const { review_body: body } = documented.RUDDERSTACK_TRACK.properties
    assert.deepEqual([description, rating, who], [body, 3, 'my-user-id'])
    const group = `select name from account join account_external_id on account_id = id where external_id = '${documented.RUDDERSTACK_GROUP.groupId}'`
    assert.deepEqual(await rowOf(group), { name: 'Hooli' })
  })

  receiver('zendesk.ts', 'Bun', async (deliver) => {
    const sign = SIGNS['zendesk']!
    const sent = await deliver(sign, documented.ZENDESK_EVENT)
    assert.deepEqual(new Set(sent.map(({ key }) => key)), new Set(['8350205582']))
    const { detail } = documented.ZENDESK_EVENT
    const { created_at: at, source_data: data, ...ticket } = await feedback('zendesk', '5158')
    const { description, subject: title } = detail
    assert.deepEqual(ticket, { description, title, rating: null, account: null, contact: null })
    assert.equal((at as Date).getTime(), Date.parse(detail.created_at))
    assert.equal((data as { priority: string }).priority, 'LOW')
  })

  receiver('zendesk.ts', 'Deno', async (deliver) => {
    // As Zendesk fills the placeholders of the trigger.
    const { detail } = documented.ZENDESK_EVENT
    const values: Headers = {
      'ticket.id': '5159',
      'ticket.title': detail.subject,
      'ticket.description': detail.description,
      'ticket.url': 'example.zendesk.com/agent/tickets/5159',
      'ticket.created_at_with_timestamp': '2025-01-08T10:12Z',
      'ticket.requester.id': detail.requester_id,
      'ticket.requester.name': 'Ada Byron',
      'ticket.requester.email': 'ada@acme.example',
      'ticket.organization.name': 'Acme',
    }
    const template = readFileSync(join(directory, 'zendesk-trigger.json'), 'utf8')
    const body = template.replaceAll(/\{\{([\w.]+)\}\}/g, (_, name: string) => values[name] ?? assert.fail(name))
    // Of another invocation than that of the event.
    const sign: Sign = (bytes, key) => ({ ...SIGNS['zendesk']!(bytes, key), 'x-zendesk-webhook-invocation-id': '2' })
    await deliver(sign, body)
    const { account, contact: who, created_at: at } = await feedback('zendesk', '5159')
    assert.deepEqual([account, who], ['Acme', detail.requester_id])
    assert.equal((at as Date).toISOString(), '2025-01-08T10:12:00.000Z')
    const { name, email } = await contact('zendesk', detail.requester_id)
    assert.deepEqual([name, email], ['Ada Byron', 'ada@acme.example'])
    // The ticket of the event is of the same requester, who was unknown then.
    await until('it is linked', async () => (await feedback('zendesk', '5158'))['contact'] === detail.requester_id)
  })

  receiver('intercom.ts', 'Bun', async (deliver) => {
    await deliver(SIGNS['intercom']!, documented.INTERCOM_CREATED)
    await deliver(SIGNS['intercom']!, documented.INTERCOM_REPLIED)
    const said = `select content, incoming, contact_external_id.external_id as contact, message.created_at
      from message join conversation on conversation.id = conversation_id left join contact_external_id using (contact_id)
      where conversation.source = 'intercom' and conversation.external_id = '1911149811' order by message.external_id`
    const rows = await until('both messages are stored', async () => {
      const found = await service.sql.unsafe<Record<string, unknown>[]>(said)
      return found.length === 2 && found.map((row) => ({ ...row }))
    })
    const contents = ['<p>Hi</p>', "<p>Hi Jane, it's all great thanks!</p>"]
    const contacts = ['5bc8f7ae2d96695c18a', '536e564f316c83104c000020']
    const times = [1539897198, 1400857494]
    assert.deepEqual(
      rows,
      contents.map((content, at) => ({
        content,
        incoming: true,
        contact: contacts[at],
        created_at: new Date(times[at]! * 1_000),
      })),
    )
    assert.deepEqual(await rowOf(`select rating::float8 from conversation where rating is not null`), { rating: 4 })
    assert.equal((await contact('intercom', '536e564f316c83104c000020'))['email'], 'ada@x.example')
  })

  receiver('typeform.ts', 'Deno', async (deliver) => {
    const { form_response: response } = documented.TYPEFORM
    const user = response.hidden.user_id
    const hidden = { ...response.hidden, user_signature: sign256(USER_SECRET, user) }
    await deliver(SIGNS['typeform']!, { ...documented.TYPEFORM, form_response: { ...response, hidden } })
    const {
      source_data: data,
      created_at: at,
      ...answer
    } = await feedback('typeform', 'a3a12ec67a1365927098a606107fac15')
    assert.deepEqual(answer, {
      description: documented.TYPEFORM.form_response.answers[0]!.text,
      title: 'Webhooks example',
      rating: 2,
      account: null,
      contact: null,
    })
    assert.equal((at as Date).getTime(), Date.parse('2018-01-18T18:17:02Z'))
    const { form, answers } = data as { form: string; answers: Record<string, unknown> }
    assert.deepEqual([form, answers['JwWggjAKtOkA'], answers['RUqkXSeXBXSd']], ['lT4Z3j', 'Laura', false])
    assert.deepEqual(answers['PNe8ZKBK8C2Q'], { labels: ['London', 'Sydney'] })
    // It waits for the application to say who its user is.
    await service.submit('/contacts/identify', { id: user, source: 'app', properties: { $name: 'Laura' } })
    const sourceId = 'a3a12ec67a1365927098a606107fac15'
    await until('it is linked', async () => (await feedback('typeform', sourceId))['contact'] === user)
    assert.equal((await contact('app', user))['email'], null)
  })

  /** Deliveries of a recipe, each answered 200. */
  const deliverAll = async (file: string, sign: Sign, payloads: readonly unknown[]): Promise<void> => {
    const { url, stop } = await startReceiver(file, { directory, runtime: 'Bun', environment })
    try {
      assert.equal((await fetch(url, { method: 'HEAD' })).status, 200)
      for (const payload of payloads) {
        const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
        const response = await fetch(url, { method: 'POST', headers: sign(body, secret), body })
        assert.equal(response.status, 200, `${body} was answered ${await response.text()}`)
      }
    } finally {
      await stop()
    }
  }

  it('segment.ts keeps what is said when the rating or the user is no value', async () => {
    const review = (id: string, more: object) => ({
      type: 'track',
      messageId: id,
      event: 'Product Reviewed',
      properties: { review_id: id, review_body: 'words', ...more },
    })
    const noRatings = [null, '', ' ', false, true, [], {}, '0x10', '1e3']
    await deliverAll('segment.ts', SIGNS['segment']!, [
      ...noRatings.map((rating, at) => review(`r-${at}`, { rating })),
      { ...review('of-nobody', { rating: '4.5' }), userId: null },
      { ...review('of-empty', { rating: 4 }), userId: '' },
      { ...review('of-number', { rating: 4 }), userId: 4711 },
      { type: 'identify', messageId: 'i-null', userId: null, traits: { company: { id: 'co-1', name: 'Initech' } } },
      { type: 'identify', messageId: 'i-number', userId: 4711, traits: { createdAt: 1389747592 } },
      { type: 'identify', messageId: 'i-co', userId: 'u-co', traits: { company: { name: 'No id' } } },
      { type: 'group', messageId: 'g-null', userId: null, groupId: 17, traits: { website: 'www.globex.example' } },
      // Names of Object.prototype are events as any other.
      ...['constructor', '__proto__', 'toString'].map((event) => ({ type: 'track', messageId: `e-${event}`, event })),
      '{"type":"track","messageId":"big","event":"Product Reviewed","properties":{"review_id":9912140633506421}}',
    ])
    for (const [at] of noRatings.entries()) assert.equal((await feedback('app', `r-${at}`))['rating'], null)
    const ratings = { 'of-nobody': 4.5, 'of-empty': 4, 'of-number': 4, '9912140633506421': null }
    for (const [id, rating] of Object.entries(ratings)) assert.equal((await feedback('app', id))['rating'], rating, id)
    await until('it is linked', async () => (await feedback('app', 'of-number'))['contact'] === '4711')
    assert.deepEqual((await contact('app', 'u-co'))['properties'], { company: { name: 'No id' } })
    const accounts = `select name, domain from account join account_external_id on account_id = id where external_id =`
    assert.deepEqual(await rowOf(`${accounts} 'co-1'`), { name: 'Initech', domain: 'co-1' })
    assert.deepEqual(await rowOf(`${accounts} '17'`), { name: '17', domain: 'globex.example' })
    const others = `select 1 as found from feedback where source_data ->> 'event' <> 'Product Reviewed'`
    assert.equal((await service.sql.unsafe(others)).length, 0)
  })

  it('typeform.ts takes nobody for a user whose id the application has not signed', async () => {
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
      response('t-zero', { user_id: '0', user_signature: sign256(USER_SECRET, '0') }, 'p2@x.example'),
      response('t-none', null, 'p3@x.example'),
    ])
    const said = `select source_id, email from feedback join contact on contact.id = contact_id where title = 'Survey' order by 1`
    await until('all are stored', async () => (await service.sql.unsafe(said)).length === 5)
    assert.deepEqual(
      (await service.sql.unsafe<{ email: string }[]>(said)).map(({ email }) => email),
      ['attacker@x.example', 'p1@x.example', 'attacker@x.example', 'p3@x.example', 'p2@x.example'],
    )
    assert.equal((await contact('app', 'victim'))['email'], 'v@x.example')
  })

  it('zendesk.ts and intercom.ts keep what is said when its author is missing', async () => {
    const ticket = { id: 5160, subject: 'S', description: 'Body', created_at: '2026-01-01T10:00:00Z' }
    const zendesk =
      (invocation: string): Sign =>
      (bytes, key) => ({
        ...SIGNS['zendesk']!(bytes, key),
        'x-zendesk-webhook-invocation-id': invocation,
      })
    await deliverAll('zendesk.ts', zendesk('7'), [
      { ticket, requester: { id: '', name: '', email: '' }, organization: '' },
    ])
    await deliverAll('zendesk.ts', zendesk('8'), [{ ticket: { ...ticket, id: '5161' } }])
    for (const id of ['5160', '5161']) assert.equal((await feedback('zendesk', id))['contact'], null)
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
    await deliverAll('intercom.ts', SIGNS['intercom']!, [{ id: 'n-41', topic: 'x', data: { item } }])
    const messages = `select content, contact_id is null as "isOfNobody" from message where conversation_id in
      (select id from conversation where external_id = '41') order by created_at`
    await until('the messages are stored', async () => (await service.sql.unsafe(messages)).length === 3)
    assert.deepEqual(
      (await service.sql.unsafe<{ isOfNobody: boolean }[]>(messages)).map(({ isOfNobody }) => isOfNobody),
      [false, true, true],
    )
  })

  it('take the former secret while it is changed, and no signature of another day', async () => {
    const run = { directory, runtime: 'Bun' as const, environment: { ...environment, WEBHOOK_SECRET_BEFORE: 'former' } }
    const { url, stop } = await startReceiver('zendesk.ts', run)
    try {
      const body = JSON.stringify({ type: 'another event', detail: {} })
      const statusOf = async (headers: Headers): Promise<number> =>
        (await fetch(url, { method: 'POST', headers, body })).status
      const sign = SIGNS['zendesk']!
      assert.deepEqual([await statusOf(sign(body, secret)), await statusOf(sign(body, 'former'))], [200, 200])
      const old = '2021-03-25T05:09:27Z'
      const signature = sha256(secret, `${old}${body}`)
      const headers = {
        'x-zendesk-webhook-signature-timestamp': old,
        'x-zendesk-webhook-signature': signature,
      }
      assert.equal(await statusOf(headers), 401)
    } finally {
      await stop()
    }
  })

  it('tell a vendor to deliver again while the service is away, and not what the service refuses', async () => {
    const run = { directory, runtime: 'Bun' as const, environment }
    const { url, stop } = await startReceiver('typeform.ts', run)
    try {
      const deliver = async (payload: unknown): Promise<Response> => {
        const body = JSON.stringify(payload)
        return fetch(url, { method: 'POST', headers: SIGNS['typeform']!(body, secret), body })
      }
      between.refuse(503, 503, 503, 503)
      const { status, headers } = await deliver({ ...documented.TYPEFORM, event_id: 'away' })
      assert.deepEqual([status, headers.get('Retry-After')], [503, '30'])
      const { form_response: response } = documented.TYPEFORM
      const long = { ...response, hidden: {}, token: 'x'.repeat(1_000) }
      const refused = await deliver({ ...documented.TYPEFORM, event_id: 'long', form_response: long })
      assert.equal(refused.status, 422)
      assert.match(await refused.text(), /^400: sourceId/)
    } finally {
      await stop()
    }
  })
})
