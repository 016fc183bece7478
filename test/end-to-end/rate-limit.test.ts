import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import process from 'node:process'
import { after, afterEach, describe, it } from 'node:test'
import type { BatchResult } from '../../api/submit/submit-batch.ts'
import { makeToken } from '../../contract/token-format.ts'
import { addToken } from '../../db/tokens.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { RawConnection } from '../support/raw-connection.ts'
import type { Answer, Service } from '../support/service.ts'
import { idleService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'
import { SHORT_BODY } from './body-with.ts'
import { PATHS } from './interface-table.ts'

const TOKENS = 10
const WINDOW_SECONDS = 60
const MICROSECONDS_PER_SECOND = 1_000_000
const TOO_LARGE_BYTES = 5 * 1024 * 1024
const ANSWERED_WITHIN_MS = 120_000
/** Less than the time limit for a body. */
const NOT_ANSWERED_WITHIN_MS = 2_000
const POLICY = `"submit_conversation";q=${TOKENS};w=${WINDOW_SECONDS}`

/** Status, policy and remaining tokens. */
const limitOf = ({ status, headers }: Answer): [number, string | null, number | null] => {
  const [, remaining] = /;r=(\d+)/.exec(headers.get('ratelimit') ?? '') ?? []
  return [status, headers.get('ratelimit-policy'), remaining === undefined ? null : Number(remaining)]
}

const service = await idleService()
after(() => service.stop())

describe('the limit on conversations', () => {
  let count = 0
  afterEach(() => service.redis.del(bucket()))

  /** The key of the times at which tokens were spent, in microseconds, the oldest last. */
  const bucket = (): string => workspaceKeys(service.redisPrefix, service.workspaceId).bucket('submit_conversation')

  /** Moves the oldest time of the bucket into the past, as if so many seconds had passed. */
  const age = async (seconds: number): Promise<void> => {
    const moments = (await service.redis.lrange(bucket(), 0, -1)).map(Number)
    const aged = moments.map((moment, index) =>
      index < moments.length - 1 ? moment : moment - seconds * MICROSECONDS_PER_SECOND,
    )
    await service.redis
      .multi()
      .del(bucket())
      .rpush(bucket(), ...aged.map(String))
      .exec()
  }

  // `age` lets time pass only in Redis. An idempotency key makes an API process ask Redis, even if
  // the process remembers an empty bucket.
  const withKey = (): Record<string, string> => ({ 'Idempotency-Key': `key-${++count}` })
  const submit = ({ headers, ...options }: Parameters<Service['post']>[2] = {}): Promise<Answer> =>
    service.post('/conversations', SHORT_BODY['/conversations'](`conversation-${++count}`), {
      ...options,
      headers: { ...withKey(), ...headers },
    })

  const spendAll = async (): Promise<void> => {
    const answers = await Promise.all(Array.from({ length: TOKENS }, (_, index) => submit({ api: index % 2 })))
    for (const { status, text } of answers) assert.equal(status, 200, text)
  }

  const assertLimited = (answer: Answer): number => {
    assert.equal(answer.status, 429, answer.text)
    assert.deepEqual(Object.keys(answer.body), ['error'])
    assert.match(answer.body.error, /\b10 per minute\b/)
    assert.match(answer.body.error, /retry later/i)
    const retryAfter = answer.headers.get('retry-after') ?? ''
    assert.match(retryAfter, /^[1-9]\d*$/)
    assert.ok(Number(retryAfter) <= WINDOW_SECONDS, retryAfter)
    return Number(retryAfter)
  }

  it('admits ten requests and refuses the eleventh, in any process, and each answer says how many are left', async () => {
    const remaining: number[] = []
    for (let sent = 0; sent < TOKENS + 2; sent++) {
      const answer = await submit({ api: sent % 2 })
      const { headers, status } = answer
      assert.equal(headers.get('ratelimit-policy'), POLICY)
      const [, r, t] = /^"submit_conversation";r=(\d+);t=(\d+)$/.exec(headers.get('ratelimit') ?? '') ?? []
      remaining.push(Number(r))
      assert.ok(Number(t) > 0 && Number(t) <= WINDOW_SECONDS, String(t))
      if (sent < TOKENS) assert.equal(status, 200, answer.text)
      else assert.equal(assertLimited(answer), Number(t))
    }
    assert.deepEqual(remaining, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0])
  })

  it('is described when a body is refused', async () => {
    const bad = await service.post('/conversations', {}, { headers: withKey() })
    const notJson = await submit({ headers: { 'Content-Type': 'text/plain' } })
    const huge = { id: 'x'.repeat(TOO_LARGE_BYTES) }
    const tooLarge = await service.post('/conversations', huge, { headers: withKey() })
    assert.deepEqual([bad, notJson, tooLarge].map(limitOf), [
      [400, POLICY, null],
      [415, POLICY, null],
      [413, POLICY, null],
    ])
  })

  it('returns a spent token 60 seconds later, and not earlier', async () => {
    const begunAt = performance.now()
    await spendAll()
    // Only 10 s: the oldest token must not return before the next request, even on a busy machine.
    await age(10)
    const retryAfter = assertLimited(await submit())
    const passed = 10 + Math.ceil((performance.now() - begunAt) / 1_000)
    assert.ok(retryAfter <= WINDOW_SECONDS - 10 && retryAfter >= WINDOW_SECONDS - passed, String(retryAfter))
    await age(WINDOW_SECONDS - 10)
    assert.equal((await submit()).status, 200)
    assertLimited(await submit())
  })

  it('can be set for the other operations as well', async () => {
    for (const operation of ['create_feedback', 'identify_contact', 'identify_account'] as const) {
      const path = PATHS[operation]
      const { status, headers } = await service.post(path, SHORT_BODY[path]('x'))
      assert.deepEqual([status, headers.get('ratelimit-policy')], [201, `"${operation}";q=100000;w=60`])
    }
  })

  it('is not described to tokens that may not submit', async () => {
    const operator = makeToken()
    await addToken(service.all, { token: operator, workspace: null, scopes: ['operator'], expiresAt: null })
    const [none, unknown, forbidden] = [
      await submit({ token: null }),
      await submit({ token: 'stranger-has-this-token' }),
      await submit({ token: operator }),
    ]
    assert.deepEqual([none, unknown, forbidden].map(limitOf), [
      [401, null, null],
      [401, null, null],
      [403, null, null],
    ])
  })

  it('applies to a batch, whose results say when to repeat an item', async () => {
    const items = Array.from({ length: TOKENS + 2 }, (_, at) => ({
      operation: 'submit_conversation',
      body: SHORT_BODY['/conversations'](`batch-${at}`),
      idempotencyKey: `batch-${at}`,
    }))
    const { results } = (await service.post('/batch', { items })).body as { results: BatchResult[] }
    assert.deepEqual(
      results.map(({ status }) => status),
      [...Array.from({ length: TOKENS }, () => 200), 429, 429],
    )
    const { retryAfter = 0 } = results.at(-1)!
    assert.ok(retryAfter > 0 && retryAfter <= WINDOW_SECONDS, String(retryAfter))
  })

  it('refuses a request without a key before its body is read, while the bucket is known to be empty', async () => {
    await spendAll()
    await service.post('/conversations', SHORT_BODY['/conversations']('refused'))
    const announce = async (more: string, timeoutMs: number): Promise<Answer> => {
      const connection = new RawConnection(service.urls[0]!)
      const head =
        `POST /api/v1/conversations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.accessToken}\r\n` +
        `Content-Type: application/json\r\n${more}Content-Length: 4000000\r\n\r\n`
      try {
        const { status, headers } = await connection.send(Buffer.from(head), { hasBody: true, timeoutMs })
        return { status, headers: new Headers([...headers]), text: '', body: undefined }
      } finally {
        connection.close()
      }
    }
    const answer = await announce('', ANSWERED_WITHIN_MS)
    assert.deepEqual(limitOf(answer), [429, POLICY, 0])
    assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d?$/)
    await assert.rejects(announce('Idempotency-Key: first\r\n', NOT_ANSWERED_WITHIN_MS), /no answer within/)
  })

  if (process.env['TEST_SIZE'] === 'long') {
    it('admits a caller that has really waited', async () => {
      await spendAll()
      const retryAfterMs = assertLimited(await submit()) * 1_000
      const end = performance.now() + retryAfterMs
      await until('Retry-After is over', () => Promise.resolve(performance.now() >= end))
      assert.equal((await service.post('/conversations', SHORT_BODY['/conversations']('waited'))).status, 200)
    })
  }
})
