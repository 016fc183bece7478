import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { treaty } from '@elysiajs/eden'
import type { App } from '../../api/app.ts'
import { type Service, startService } from '../support/service.ts'

describe('the typed client', () => {
  let service: Service
  before(async () => (service = await startService()))
  after(() => service?.stop())

  const clientOf = (url: string, token: string) =>
    // It would make dates of texts that look like some.
    treaty<App>(url, { headers: { Authorization: `Bearer ${token}` }, parseDate: false })
  const client = (token = service.accessToken) => clientOf(service.urls[0]!, token).api.v1

  it('submits a feedback, and reads its receipt', async () => {
    const answer = await client().feedbacks.post(
      {
        description: 'Exporting a report takes ages',
        contact: { email: 'ada@acme.example' },
        source: 'client',
        sourceId: '2026-01-31T09:30:00Z',
        sourceData: { 'page.url': '/reports' },
        shouldUnflattenSourceData: true,
      },
      { headers: { Prefer: 'wait=20', 'Idempotency-Key': 'client-1' } },
    )
    assert.equal(answer.error, null)
    const { id, sourceId, sourceData } = answer.data.feedback
    assert.deepEqual([sourceId, sourceData], ['2026-01-31T09:30:00Z', { page: { url: '/reports' } }])
    const submission = { id: answer.response.headers.get('Submission-Id')! }
    const receipt = await client().submissions(submission).get()
    assert.equal(receipt.error, null)
    assert.equal(receipt.data.submission.state, 'applied')
    assert.match(receipt.data.submission.acceptedAt, /^\d{4}-.*Z$/)
    const [row] = await service.sql<{ id: string }[]>`select id from feedback`
    assert.equal(row?.id, id)
  })

  it('submits everything else', async () => {
    const contact = {
      id: 'user-42',
      source: 'crm',
      properties: { $name: 'Ada', $email: 'ada@x.example', plan: 'team' },
    }
    const createdAt = '2026-01-31T09:30:00Z'
    const messages = [{ id: 'm', incoming: true, contactId: 'user-42', content: 'It hangs.', createdAt }]
    const { contacts, accounts, conversations } = client()
    const answers = [
      await contacts.identify.post({ ...contact, account: { id: 'acme' } }),
      await accounts.identify.post({ id: 'acme', properties: { $name: 'Acme', $domain: 'acme.example' } }),
      await conversations.post({ id: 'c', source: 'chat', createdAt, contacts: [contact], messages }),
      await client(service.adminToken).contacts.purge.post({ email: 'ada@x.example' }),
    ]
    assert.deepEqual(
      answers.map(({ status, data }) => [status, data]),
      [201, 201, 200, 200].map((status) => [status, { success: true }]),
    )
  })

  it('tells errors apart by their status', async () => {
    // @ts-expect-error What a mistake of the types lets through, the service refuses.
    const invalid = await client().feedbacks.post({ description: 7, rating: 'good' })
    assert.ok(invalid.error?.status === 400)
    assert.deepEqual(
      invalid.error.value.error.map(({ path }) => path),
      ['description', 'rating'],
    )
    const unknown = await client('nobody-has-this-token').contacts.identify.post({ id: 'x' })
    assert.ok(unknown.error?.status === 401)
    assert.match(unknown.error.value.error.toLowerCase(), /bearer token/)
  })
})

/** Never called: `npm run check` fails when one of these compiles. */
export const mistakes = async (): Promise<void> => {
  const { feedbacks, contacts, accounts, conversations } = treaty<App>('').api.v1
  const createdAt = '2026-01-31T09:30:00Z'
  const { data, error } = await feedbacks.post({ description: 'x', tags: null, rating: 3, contact: { name: 'x' } })
  // @ts-expect-error There may be no data.
  const feedback = data.feedback
  // @ts-expect-error An id is a text.
  const id: number | undefined = data?.feedback.id
  // @ts-expect-error Which status it is decides what it says.
  const problems: object[] | undefined = error?.value.error
  // @ts-expect-error No such operation.
  const { merge } = contacts
  // @ts-expect-error Required.
  await feedbacks.post({})
  // @ts-expect-error Misspelt.
  await feedbacks.post({ description: 'x', descripton: 'x' })
  // @ts-expect-error Misspelt further down.
  await feedbacks.post({ description: 'x', contact: { mail: 'x' } })
  // @ts-expect-error Not a text.
  await contacts.identify.post({ id: 42 })
  // @ts-expect-error Not a text.
  await contacts.identify.post({ id: 'x', properties: { $email: 42 } })
  // @ts-expect-error Required.
  await accounts.identify.post({ id: 'x', properties: { $name: 'x' } })
  // @ts-expect-error Required in a message.
  await conversations.post({ id: 'x', source: 'x', createdAt, contacts: [], messages: [{ id: 'x', createdAt }] })
  assert.fail(JSON.stringify([feedback, id, problems, merge]))
}
