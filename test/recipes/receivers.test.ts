import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'
import { unwilling, type UnwillingService } from '../support/unwilling.ts'
import { fetchReviews } from './app-store-server.ts'
import documented from './documented-payloads.json' with { type: 'json' }
import { installRecipes, type Runtime, settingsOf, startReceiver } from './running-recipe.ts'
import { rowsOf } from './stored-rows.ts'
import { type Headers, hexSignature, type Sign, SIGNS, USER_SECRET } from './vendor-signs.ts'

describe('the recipes that submit', () => {
  const directory = temporaryDirectory()
  const secret = randomBytes(20).toString('hex')
  let service: SharedService
  let between: UnwillingService
  let environment: Readonly<Record<string, string>>
  before(async () => {
    service = await sharedService()
    between = await unwilling(service.urls[0]!)
    environment = { ...settingsOf(service, secret), FEEDBACK_URL: between.url }
    await installRecipes(directory)
  })
  after(async () => {
    between?.stop()
    await service?.stop()
  })

  const { rowOf, contact, feedback } = rowsOf(() => service)

  const itAccepts = (file: string, runtime: Runtime, test: (deliver: Deliver) => Promise<void>): void => {
    it(`${file} on ${runtime} accepts the documented payloads`, async () => {
      await using receiver = await startReceiver(file, { directory, runtime, environment })
      let wasRefused = false
      const deliver: Deliver = async (sign, payload) => {
        const bytes = typeof payload === 'string' ? payload : JSON.stringify(payload)
        const post = async (signature: Headers): Promise<number> => {
          const headers = { 'Content-Type': 'application/json', ...signature }
          return (await fetch(receiver.url, { method: 'POST', headers, body: bytes })).status
        }
        const wrong = [{}, sign(bytes, 'another secret')]
        // RudderStack sends the secret itself, which does not depend on the body.
        if (sign !== SIGNS['rudderstack']) wrong.push(sign(`${bytes} `, secret))
        for (const signature of wrong) assert.equal(await post(signature), 401)
        // The service refuses the first submission, and the recipe repeats it. Then the vendor delivers
        // the same event again.
        if (!wasRefused) between.refuse(503)
        wasRefused = true
        const seen = between.seen.length
        assert.deepEqual([await post(sign(bytes, secret)), await post(sign(bytes, secret))], [200, 200])
        return between.seen.slice(seen)
      }
      assert.equal((await fetch(receiver.url)).status, 405)
      await test(deliver)
    })
  }
  type Deliver = (sign: Sign, payload: unknown) => Promise<readonly { key: string | undefined; body: string }[]>

  itAccepts('segment.ts', 'Bun', async (deliver) => {
    const sign = SIGNS['segment']!
    const keys = (await deliver(sign, documented.SEGMENT_IDENTIFY)).map(({ key }) => key)
    assert.deepEqual(new Set(keys), new Set([documented.SEGMENT_IDENTIFY.messageId]))
    // Segment's examples of identify and group share a messageId, unlike real events.
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

  itAccepts('segment.ts', 'Deno', async (deliver) => {
    const sign = SIGNS['rudderstack']!
    await deliver(sign, documented.RUDDERSTACK_IDENTIFY)
    await deliver(sign, documented.RUDDERSTACK_GROUP)
    await deliver(sign, documented.RUDDERSTACK_TRACK)
    const created = `select source_created_at as at from contact where name = 'User name'`
    assert.deepEqual((await rowOf(created))['at'], new Date('2016-03-24T17:46:45Z'))
    const row = await contact('app', 'my-user-id')
    assert.deepEqual(row, {
      name: 'User name',
      email: 'user@domain.com',
      properties: { plan: 'Enterprise' },
      account: 'company-A',
    })
    const { description, rating, contact: author } = await feedback('app', '86ac1cd43')
    const { review_body: body } = documented.RUDDERSTACK_TRACK.properties
    assert.deepEqual([description, rating, author], [body, 3, 'my-user-id'])
    const group = `select name from account join account_external_id on account_id = id where external_id = '${documented.RUDDERSTACK_GROUP.groupId}'`
    assert.deepEqual(await rowOf(group), { name: 'Hooli' })
  })

  itAccepts('zendesk.ts', 'Bun', async (deliver) => {
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

  itAccepts('zendesk.ts', 'Deno', async (deliver) => {
    const { detail } = documented.ZENDESK_EVENT
    // Zendesk fills the placeholders in the body of a trigger with such values.
    const values: Readonly<Record<string, string>> = {
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
    // Another invocation than the one of ZENDESK_EVENT, and so another idempotency key.
    const sign: Sign = (bytes, key) => ({ ...SIGNS['zendesk']!(bytes, key), 'x-zendesk-webhook-invocation-id': '2' })
    await deliver(sign, body)
    const { account, contact: author, created_at: at } = await feedback('zendesk', '5159')
    assert.deepEqual([account, author], ['Acme', detail.requester_id])
    assert.equal((at as Date).toISOString(), '2025-01-08T10:12:00.000Z')
    const { name, email } = await contact('zendesk', detail.requester_id)
    assert.deepEqual([name, email], ['Ada Byron', 'ada@acme.example'])
    // The ticket of the event has the same requester, who was unknown at that time.
    await until(
      'the feedback is linked',
      async () => (await feedback('zendesk', '5158'))['contact'] === detail.requester_id,
    )
  })

  itAccepts('intercom.ts', 'Bun', async (deliver) => {
    await deliver(SIGNS['intercom']!, documented.INTERCOM_CREATED)
    await deliver(SIGNS['intercom']!, documented.INTERCOM_REPLIED)
    const messageQuery = `select content, incoming, contact_external_id.external_id as contact, message.created_at
      from message join conversation on conversation.id = conversation_id left join contact_external_id using (contact_id)
      where conversation.source = 'intercom' and conversation.external_id = '1911149811' order by message.external_id`
    const rows = await until('the messages and the remark are stored', async () => {
      const found = await service.sql.unsafe<Record<string, unknown>[]>(messageQuery)
      return found.length === 3 && found.map((row) => ({ ...row }))
    })
    const contents = ['<p>Hi</p>', "<p>Hi Jane, it's all great thanks!</p>", 'quick']
    const contacts = ['5bc8f7ae2d96695c18a', '536e564f316c83104c000020', '5bc8f7ae2d96695c18a']
    const times = [1539897198, 1400857494, 1540393270]
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

  itAccepts('typeform.ts', 'Deno', async (deliver) => {
    const { form_response: response } = documented.TYPEFORM
    const user = response.hidden.user_id
    const hidden = { ...response.hidden, user_signature: hexSignature(USER_SECRET, user) }
    await deliver(SIGNS['typeform']!, { ...documented.TYPEFORM, form_response: { ...response, hidden } })
    const sourceId = response.token
    const { source_data: data, created_at: at, ...answer } = await feedback('typeform', sourceId)
    assert.deepEqual(answer, {
      description: response.answers[0]!.text,
      title: 'Webhooks example',
      rating: 2,
      account: null,
      contact: null,
    })
    assert.equal((at as Date).getTime(), Date.parse('2018-01-18T18:17:02Z'))
    const { form, answers } = data as { form: string; answers: Record<string, unknown> }
    assert.deepEqual([form, answers['JwWggjAKtOkA'], answers['RUqkXSeXBXSd']], ['lT4Z3j', 'Laura', false])
    assert.deepEqual(answers['PNe8ZKBK8C2Q'], { labels: ['London', 'Sydney'] })
    // The feedback waits until the application identifies its user.
    await service.submit('/contacts/identify', { id: user, source: 'app', properties: { $name: 'Laura' } })
    await until('the feedback is linked', async () => (await feedback('typeform', sourceId))['contact'] === user)
    assert.equal((await contact('app', user))['email'], null)
  })

  for (const runtime of ['Bun', 'Deno'] as const) {
    it(`app-store.ts on ${runtime} submits the documented reviews, page by page`, async () => {
      const { ANOTHER_APP_STORE_REVIEW: another, APP_STORE_REVIEW: documentedReview } = documented
      const asked = await fetchReviews([another, documentedReview], { directory, runtime, service })
      assert.deepEqual(asked, [
        '/v1/apps/682658836/customerReviews?sort=-createdDate&limit=200',
        '/v1/apps/682658836/customerReviews?cursor=2',
      ])
      const { source_data: data, created_at: at, ...review } = await feedback('app-store', documentedReview.id)
      assert.deepEqual(review, {
        description: "It's a really fantastic app!",
        title: 'Awesome!!!',
        rating: 5,
        account: null,
        contact: 'Anne Johnson',
      })
      assert.deepEqual(data, { app: '682658836', territory: 'USA' })
      assert.equal((at as Date).toISOString(), '2017-11-15T16:10:34.000Z')
    })
  }

  it('tell a vendor to deliver again while the service is away, but not after a refusal', async () => {
    const run = { directory, runtime: 'Bun' as const, environment }
    await using receiver = await startReceiver('typeform.ts', run)
    const deliver = async (payload: unknown): Promise<Response> => {
      const body = JSON.stringify(payload)
      return fetch(receiver.url, { method: 'POST', headers: SIGNS['typeform']!(body, secret), body })
    }
    // At least as many refusals as the recipe makes attempts.
    between.refuse(503, 503, 503, 503)
    const { status, headers } = await deliver({ ...documented.TYPEFORM, event_id: 'away' })
    assert.deepEqual([status, headers.get('Retry-After')], [503, '30'])
    const { form_response: response } = documented.TYPEFORM
    // The service takes at most 1,000 members in an object of source data.
    const answers = Array.from({ length: 1_001 }, (_, at) => ({ type: 'number', number: at, field: { id: `f${at}` } }))
    const long = { ...response, hidden: {}, token: 'long', answers }
    const refused = await deliver({ ...documented.TYPEFORM, event_id: 'long', form_response: long })
    assert.equal(refused.status, 422)
    assert.match(await refused.text(), /^400: sourceData/)
  })
})
