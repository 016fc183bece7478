import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Webhook as Signer } from 'standardwebhooks'
import { verifyWebhook } from '../../client/client.ts'

const secretOf = (letter: string): string => `whsec_${btoa(letter.repeat(32))}`
const [SECRET, FORMER_SECRET] = [secretOf('a'), secretOf('b')]
const MESSAGE = {
  type: 'project.deleted',
  timestamp: '2026-01-31T09:30:00.000Z',
  data: { position: 1, kind: 'project', id: '0', deleted: true },
}
const BODY = JSON.stringify(MESSAGE)
const MS_PER_MINUTE = 60_000

const headersOf = (secret: string, at = new Date()): Record<string, string> => ({
  'webhook-id': 'a_1',
  'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
  'webhook-signature': new Signer(secret).sign('a_1', at, BODY),
})

describe('verifyWebhook', () => {
  it('gives the message if its signature is right, also during a rotation', async () => {
    const headers = headersOf(SECRET)
    assert.deepEqual(await verifyWebhook(SECRET, { body: BODY, headers }), MESSAGE)
    assert.deepEqual(await verifyWebhook(SECRET, { body: BODY, headers: new Headers(headers) }), MESSAGE)
    const both = `${headersOf(FORMER_SECRET)['webhook-signature']} ${headers['webhook-signature']}`
    assert.deepEqual(
      await verifyWebhook(SECRET, { body: BODY, headers: { ...headers, 'webhook-signature': both } }),
      MESSAGE,
    )
  })

  it('refuses another secret, another body, a time far away and a missing header', async () => {
    const headers = headersOf(SECRET)
    await assert.rejects(verifyWebhook(FORMER_SECRET, { body: BODY, headers }), /No signature/)
    await assert.rejects(verifyWebhook(SECRET, { body: `${BODY} `, headers }), /No signature/)
    for (const minutes of [-6, 6]) {
      const at = new Date(Date.now() + minutes * MS_PER_MINUTE)
      await assert.rejects(verifyWebhook(SECRET, { body: BODY, headers: headersOf(SECRET, at) }), /five minutes/)
    }
    const { 'webhook-id': _, ...others } = headers
    await assert.rejects(verifyWebhook(SECRET, { body: BODY, headers: others }), /no header webhook-id/)
    const broken = { ...headers, 'webhook-signature': 'v1,*' }
    await assert.rejects(verifyWebhook(SECRET, { body: BODY, headers: broken }))
  })
})
