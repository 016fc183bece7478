import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import type { KeyState } from '../../../contract/submission.ts'
import { createAdmit } from '../../../queue/admission/admit.ts'
import type { RateLimit } from '../../../queue/admission/call-admit.ts'
import { workspaceKeys } from '../../../queue/keys.ts'
import { appWithoutStores } from '../../support/app-without-stores.ts'
import { noWake, openQueueRoom, UNUSED } from '../../support/queue-room.ts'

const SMALL = 'x'
const LARGE = 'x'.repeat(100_000)
const LARGE_CHARACTERS = 64 * 1024
const MICROSECONDS_PER_MS = 1_000

describe('a request crosses Redis', () => {
  const room = openQueueRoom()
  after(() => room.close())

  type Stores = {
    workspaceId?: string
    /** The state of each key in Postgres. */
    stored?: KeyState
    isUnderPressure?: boolean
    limit?: RateLimit
    canPurgeMatch?: boolean
  }

  /** The API before the real Redis. `sent`: the characters of each call of the script. */
  const apiWith = ({ workspaceId = randomUUID(), stored = UNUSED, isUnderPressure, limit, canPurgeMatch }: Stores) => {
    const sent: number[] = []
    const real = room.redis as unknown as { admit: (...given: readonly unknown[]) => Promise<string[]> }
    const redis = {
      defineCommand: () => {},
      admit: (...given: readonly unknown[]): Promise<string[]> => {
        sent.push(given.join('').length)
        return real.admit(...given)
      },
    } as unknown as typeof room.redis
    const app = appWithoutStores({
      intake: {
        authenticate: async () => ({ workspaceId, scopes: ['admin'], expiresAt: null }),
        admit: createAdmit({ redis, prefix: room.prefix, wake: noWake, findStoredKey: async () => stored }),
        limitOf: () => limit,
        canPurgeMatch: async () => canPurgeMatch ?? true,
        ...(isUnderPressure && {
          pressure: { current: () => 'backlog', bytesLeft: () => Number.MAX_SAFE_INTEGER, added: () => {} },
        }),
      },
    })
    const post = async (path: string, body: object, key?: string): Promise<Response> => {
      sent.length = 0
      const headers = {
        'Content-Type': 'application/json',
        Authorization: 'Bearer token',
        ...(key !== undefined && { 'Idempotency-Key': key }),
      }
      return app.handle(new Request(`http://x/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) }))
    }
    return {
      workspaceId,
      sent,
      post,
      send: (text: string, key?: string) => post('/feedbacks', { description: text }, key),
    }
  }
  type Api = ReturnType<typeof apiWith>

  /** A workspace whose book has lost keys. */
  const withLostKeys = async (): Promise<string> => {
    const workspaceId = randomUUID()
    const number = (Date.now() - 1_000) * MICROSECONDS_PER_MS
    await room.redis.hset(workspaceKeys(room.prefix, workspaceId).state, 'forgotten', number)
    return workspaceId
  }
  const recordOfFormer = async (text: string): Promise<{ workspaceId: string; stored: KeyState }> => {
    const workspaceId = await withLostKeys()
    const api = apiWith({ workspaceId })
    assert.equal((await api.send(text, 'key')).status, 201)
    const [submission] = await Array.fromAsync(room.log.readWaiting(workspaceId))
    const { submissionId, number, idempotency } = submission!
    await room.redis.unlink(workspaceKeys(room.prefix, workspaceId).idempotency)
    return { workspaceId, stored: { state: 'former', record: { body: idempotency!.body, submissionId, number } } }
  }
  /** Asserts the status of an answer, and the number of calls with and without a large body. */
  const assertCalls = async (
    { sent }: Api,
    posted: Promise<Response>,
    [status, calls, largeCalls]: readonly [number, number, number],
  ): Promise<Response> => {
    const response = await posted
    const large = sent.filter((characters) => characters > LARGE_CHARACTERS).length
    assert.deepEqual([response.status, sent.length, large], [status, calls, largeCalls])
    return response
  }

  it('once with a small body, with or without a key', async () => {
    const api = apiWith({})
    await assertCalls(api, api.send(SMALL), [201, 1, 0])
    await assertCalls(api, api.send(SMALL, 'key'), [201, 1, 0])
    await assertCalls(api, api.send(SMALL, 'key'), [201, 1, 0])
    await assertCalls(api, api.send('other', 'key'), [422, 1, 0])
  })

  it('twice with a large body, and once if it is refused or repeated', async () => {
    const api = apiWith({ limit: { tokens: 1, windowMs: 60_000 } })
    await assertCalls(api, api.send(LARGE, 'key'), [201, 2, 1])
    await assertCalls(api, api.send(LARGE, 'key'), [201, 1, 0])
    await assertCalls(api, api.send(LARGE, 'other'), [429, 1, 0])
    const other = apiWith({})
    await assertCalls(other, other.send(LARGE), [201, 2, 1])
  })

  it('twice with the first key after the book has lost keys, then once', async () => {
    const api = apiWith({ workspaceId: await withLostKeys() })
    await assertCalls(api, api.send(SMALL, 'one'), [201, 2, 0])
    await assertCalls(api, api.send(SMALL, 'two'), [201, 1, 0])
    await assertCalls(api, api.send(SMALL), [201, 1, 0])
  })

  it('twice with a large body after the book has lost keys', async () => {
    const api = apiWith({ workspaceId: await withLostKeys() })
    await assertCalls(api, api.send(LARGE, 'one'), [201, 2, 1])
    await assertCalls(api, api.send(LARGE, 'two'), [201, 2, 1])
  })

  it('twice while Postgres cannot tell the state of a lost key', async () => {
    const api = apiWith({ workspaceId: await withLostKeys(), stored: { state: 'unknown' } })
    await assertCalls(api, api.send(LARGE, 'one'), [201, 2, 1])
    const other = apiWith({ workspaceId: await withLostKeys(), stored: { state: 'unknown' } })
    await assertCalls(other, other.send(SMALL, 'one'), [201, 2, 0])
  })

  for (const [size, text] of [
    ['small', SMALL],
    ['large', LARGE],
  ] as const) {
    it(`once with a ${size} body if only Postgres has its key`, async () => {
      const former = await recordOfFormer(text)
      for (let time = 0; time < 2; time++) {
        const api = apiWith(former)
        const repeated = await assertCalls(api, api.send(text, 'key'), [201, 1, 0])
        const { stored } = former
        assert.equal(repeated.headers.get('Submission-Id'), stored.state === 'former' && stored.record.submissionId)
        await assertCalls(api, api.send('other', 'key'), [422, 1, 0])
      }
    })
  }

  it('twice for a purge, whose key is looked up before the stored data', async () => {
    const refused = apiWith({ canPurgeMatch: false })
    await assertCalls(refused, refused.post('/contacts/purge', { id: 'a' }), [404, 1, 0])
    const api = apiWith({ workspaceId: refused.workspaceId })
    await assertCalls(api, api.post('/contacts/purge', { id: 'a' }), [200, 2, 0])
    await assertCalls(api, api.post('/contacts/purge', { id: 'b' }, 'key'), [200, 2, 0])
    await room.noteAllApplied(api.workspaceId)
    await assertCalls(refused, refused.post('/contacts/purge', { id: 'b' }, 'key'), [200, 1, 0])
    await assertCalls(refused, refused.post('/contacts/purge', { id: 'b' }, 'other'), [404, 1, 0])
  })

  it('twice for a purge after the book has lost keys', async () => {
    const api = apiWith({ workspaceId: await withLostKeys() })
    await assertCalls(api, api.post('/contacts/purge', { id: 'a' }, 'one'), [200, 2, 0])
    await assertCalls(api, api.post('/contacts/purge', { id: 'a' }, 'two'), [200, 2, 0])
  })

  it('twice for a large item of a batch, also after the book has lost keys', async () => {
    const item = (idempotencyKey?: string) => ({
      operation: 'create_feedback',
      body: { description: LARGE },
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    })
    for (const workspaceId of [randomUUID(), await withLostKeys()]) {
      const api = apiWith({ workspaceId })
      await assertCalls(api, api.post('/batch', { items: [item()] }), [200, 2, 1])
      await assertCalls(api, api.post('/batch', { items: [item('key')] }), [200, 2, 1])
      await assertCalls(api, api.post('/batch', { items: [item('key')] }), [200, 1, 0])
    }
  })

  it('once under pressure, where a known key and the rate limit decide before the 503', async () => {
    const limit = { tokens: 1, windowMs: 60_000 }
    const before = apiWith({ limit })
    await assertCalls(before, before.send(SMALL, 'key'), [201, 1, 0])
    const { workspaceId } = before
    for (const text of [SMALL, LARGE]) {
      const limited = apiWith({ workspaceId, limit, isUnderPressure: true })
      await assertCalls(limited, limited.send(SMALL, 'key'), [201, 1, 0])
      await assertCalls(limited, limited.send(text, 'other'), [429, 1, 0])
      const api = apiWith({ workspaceId, isUnderPressure: true })
      await assertCalls(api, api.send(text), [503, 1, 0])
      await assertCalls(api, api.send(text, 'third'), [503, 1, 0])
      await assertCalls(api, api.post('/contacts/purge', { id: 'a' }, 'fourth'), [503, 1, 0])
      const lost = apiWith({ workspaceId: await withLostKeys(), isUnderPressure: true })
      await assertCalls(lost, lost.send(text, 'key'), [503, 1, 0])
    }
  })
})
