import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { JsonValue } from '../../contract/json.ts'
import { problemPaths, problemsOf } from '../support/problems.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { LEAST } from './body-with.ts'

const KIB = 1_024
const MAX_BODY_BYTES = 512 * KIB
const MAX_CONVERSATION_BYTES = 5 * KIB * KIB
const MAX_LEVELS = 64
const MAX_ITEMS = 10_000
const GZIP = { 'Content-Encoding': 'gzip' }

const FEEDBACK = LEAST['/feedbacks']('x')
const CONVERSATION = LEAST['/conversations']('x')
const MESSAGE = { incoming: true, content: '', createdAt: '2026-01-01T00:00:00Z' }

/** A body of exactly so many bytes. */
const sized = (body: object, bytes: number): string => {
  const empty = JSON.stringify({ ...body, title: '' })
  return empty.replace('"title":""', `"title":"${'x'.repeat(bytes - empty.length)}"`)
}

const nested = (levels: number, inner: JsonValue = {}): JsonValue => {
  let value = inner
  for (let level = 1; level < levels; level++) value = { a: value }
  return value
}

describe('bodies', () => {
  let service: Service
  before(async () => {
    // What becomes of the accepted ones is looked at elsewhere.
    service = await startService({ workers: 0, environment: { CONVERSATIONS_PER_MINUTE: '100000' } })
  })
  after(() => service?.stop())

  const assertError = ({ status, text, body, headers }: Answer, expected: number): void => {
    assert.equal(status, expected, text)
    assert.match(headers.get('content-type') ?? '', /^application\/json/)
    assert.equal(typeof body.error, 'string')
  }

  describe('by their type', () => {
    const types = ['text/plain', 'application/x-www-form-urlencoded', 'text/json', 'application/json; charset=latin1']
    for (const type of types) {
      it(`${type} is refused`, async () => {
        assertError(await service.post('/feedbacks', FEEDBACK, { headers: { 'Content-Type': type } }), 415)
      })
    }
    for (const type of ['application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"']) {
      it(`${type} is taken`, async () => {
        const answer = await service.post('/feedbacks', FEEDBACK, { headers: { 'Content-Type': type } })
        assert.equal(answer.status, 201)
      })
    }
    it('an encoding other than gzip is refused', async () => {
      assertError(await service.post('/feedbacks', FEEDBACK, { headers: { 'Content-Encoding': 'compress' } }), 415)
    })
  })

  describe('that are no JSON object', () => {
    const malformed = [
      '',
      ' ',
      '{',
      '{"description": "sEcReT",}',
      "{'description': 'sEcReT'}",
      '[1',
      'nul',
      '{} {}',
      '"\n"',
    ]
    for (const text of malformed) {
      it(`${JSON.stringify(text)} is refused as a whole, and not quoted`, async () => {
        const answer = await service.post('/feedbacks', text)
        assert.deepEqual(problemPaths(answer), [''])
        assert.ok(!answer.text.includes('sEcReT'))
      })
    }
    it('bytes that are no UTF-8 are refused', async () => {
      const bytes = Buffer.concat([Buffer.from('{"description":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')])
      assert.deepEqual(problemPaths(await service.post('/feedbacks', bytes)), [''])
    })
    for (const value of [null, 5, 'text', true, [], [FEEDBACK]]) {
      it(`${JSON.stringify(value)} is refused by every operation`, async () => {
        for (const path of Object.keys(LEAST)) {
          const answer = await service.post(path, JSON.stringify(value), { token: service.adminToken })
          assert.deepEqual(problemPaths(answer), [''], path)
        }
      })
    }
  })

  describe('by their depth', () => {
    it('64 levels are taken', async () => {
      const sourceData = nested(MAX_LEVELS - 1)
      const answer = await service.post('/feedbacks', { ...FEEDBACK, sourceData })
      assert.deepEqual(answer.body.feedback.sourceData, sourceData)
    })
    it('65 levels are refused', async () => {
      problemsOf(await service.post('/feedbacks', { ...FEEDBACK, sourceData: nested(MAX_LEVELS) }))
    })
    it('70,000 levels are refused like 65', async () => {
      for (const [open, close] of [['[', ']'] as const, ['{"a":', '}'] as const]) {
        const deep = open.repeat(70_000) + '1' + close.repeat(70_000)
        problemsOf(await service.post('/feedbacks', `{"description":"x","sourceData":${deep}}`))
      }
    })
  })

  describe('by their size', () => {
    it('512 KiB are taken, and not a byte more', async () => {
      assert.equal((await service.post('/feedbacks', sized(FEEDBACK, MAX_BODY_BYTES))).status, 201)
      assertError(await service.post('/feedbacks', sized(FEEDBACK, MAX_BODY_BYTES + 1)), 413)
    })
    it('the same holds for identifying and purging', async () => {
      for (const path of ['/contacts/identify', '/accounts/identify', '/contacts/purge'] as const) {
        const body = sized(LEAST[path]('x'), MAX_BODY_BYTES + 1)
        assertError(await service.post(path, body, { token: service.adminToken }), 413)
      }
    })
    it('5 MiB of a conversation are taken, and not a byte more', async () => {
      assert.equal((await service.post('/conversations', sized(CONVERSATION, MAX_CONVERSATION_BYTES))).status, 200)
      assertError(await service.post('/conversations', sized(CONVERSATION, MAX_CONVERSATION_BYTES + 1)), 413)
    })
    it('a body without a length is counted while it arrives', async () => {
      assert.equal(await statusOfChunks(service, sized(FEEDBACK, MAX_BODY_BYTES)), 201)
      assert.equal(await statusOfChunks(service, sized(FEEDBACK, MAX_BODY_BYTES + 1)), 413)
    })
    it('a gzip body is counted after decompression', async () => {
      const fits = gzipSync(sized(FEEDBACK, MAX_BODY_BYTES))
      assert.equal((await service.post('/feedbacks', fits, { headers: GZIP })).status, 201)
      const tooLarge = gzipSync(sized(FEEDBACK, MAX_BODY_BYTES + 1))
      assert.ok(tooLarge.byteLength < 2 * KIB)
      assertError(await service.post('/feedbacks', tooLarge, { headers: GZIP }), 413)
      const bomb = gzipSync(Buffer.alloc(64 * KIB * KIB, ' '))
      assertError(await service.post('/conversations', bomb, { headers: GZIP }), 413)
    })
    it('gzip that is cut off or none at all is refused', async () => {
      const whole = gzipSync(JSON.stringify(FEEDBACK))
      for (const body of [whole.subarray(0, -4), Buffer.from(JSON.stringify(FEEDBACK))]) {
        assert.deepEqual(problemPaths(await service.post('/feedbacks', body, { headers: GZIP })), [''])
      }
    })
    it('10,000 messages and 10,000 contacts are taken, and not one more', async () => {
      const messages = Array.from({ length: MAX_ITEMS + 1 }, (_, index) => ({ ...MESSAGE, id: `m${index}` }))
      const contacts = Array.from({ length: MAX_ITEMS + 1 }, (_, index) => ({ id: `c${index}` }))
      const full = { messages: messages.slice(1), contacts: contacts.slice(1) }
      assert.equal((await service.post('/conversations', { ...CONVERSATION, ...full })).status, 200)
      const tooMany = await service.post('/conversations', { ...CONVERSATION, messages, contacts })
      assert.deepEqual(problemPaths(tooMany), ['contacts', 'messages'])
    })
    it('a conversation that propagation would bring above 32 MiB is refused', async () => {
      const messages = Array.from({ length: 1_000 }, (_, index) => ({ ...MESSAGE, id: `m${index}` }))
      const body = { ...CONVERSATION, messages, properties: { note: 'x'.repeat(40 * KIB) } }
      assertError(await service.post('/conversations', { ...body, propagatePropertiesToMessages: true }), 413)
      assert.equal((await service.post('/conversations', body)).status, 200)
    })
  })
})

/** By hand: fetch gives a length to every text. */
const statusOfChunks = ({ urls, accessToken }: Service, body: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${accessToken}` }
    const sent = request(`${urls[0]}/api/v1/feedbacks`, { method: 'POST', headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    sent.on('error', reject)
    for (let at = 0; at < body.length; at += 64 * KIB) sent.write(body.slice(at, at + 64 * KIB))
    sent.end()
  })
