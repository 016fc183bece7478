import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { BatchResult } from '../../api/submit/submit-batch.ts'
import type { JsonObject } from '../../contract/json.ts'
import { MAX_DEPTH_LEVELS } from '../../contract/limits.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import type { Answer } from '../support/service.ts'
import { sharedService } from '../support/shared-service.ts'
import { SHORT_BODY } from './body-with.ts'
import { PATHS as ALL_PATHS } from './interface-table.ts'

const service = await sharedService()
after(() => service.stop())

const MAX_ITEMS = 500

const { purge_contact: _purge, ...PATHS } = ALL_PATHS
type Operation = keyof typeof PATHS
const item = (operation: Operation, body: JsonObject, idempotencyKey?: string): object => ({
  operation,
  body,
  ...(idempotencyKey !== undefined && { idempotencyKey }),
})
const feedback = (sourceId: string, more: JsonObject = {}): object =>
  item('create_feedback', { description: 'slow', source: 'batch', sourceId, ...more })

/** The paths of the problems of a 400. */
const problemPaths = ({ status, text, body }: Answer): string[] => {
  assert.equal(status, 400, text)
  return (body.error as { path: string }[]).map(({ path }) => path)
}

describe('a batch', () => {
  const send = (items: readonly unknown[], headers: Record<string, string> = {}): Promise<Answer> =>
    service.post('/batch', { items }, { headers })
  const resultsOf = ({ status, text }: Answer): BatchResult[] => {
    assert.equal(status, 200, text)
    return (JSON.parse(text) as { results: BatchResult[] }).results
  }

  const numbersOf = async (results: readonly BatchResult[]): Promise<number[]> => {
    const ids = results.map(({ submissionId }) => submissionId!)
    const rows = await service.sql<{ id: string; number: string }[]>`
      select id, acceptance_number as number from submission where id = any (${ids}::uuid[])`
    const numbers = new Map(rows.map(({ id, number }) => [id, Number(number)]))
    return ids.map((id) => numbers.get(id)!)
  }

  it('gets the answers of the single operations', async () => {
    const operations = Object.keys(PATHS) as Operation[]
    const bodies = operations.flatMap((operation) =>
      [SHORT_BODY[PATHS[operation]]('b'), { rating: 'x' }].map((body) => ({ operation, body })),
    )
    const results = resultsOf(await send(bodies.map(({ operation, body }) => item(operation, body))))
    for (const [at, { operation, body }] of bodies.entries()) {
      const single = await service.post(PATHS[operation], body)
      const { status, body: answered, submissionId } = results[at]!
      assert.equal(status, single.status)
      assert.equal(submissionId !== undefined, single.headers.has('submission-id'))
      const withoutIds = (text: string): string => text.replace(/"id":"[^"]+"/, '')
      assert.equal(withoutIds(JSON.stringify(answered)), withoutIds(single.text))
    }
  })

  it('is accepted in the order of its items, with bodies of any size and operation, even if keys have left Redis', async () => {
    const keys = workspaceKeys(service.redisPrefix, service.workspaceId)
    await service.redis.hset(keys.state, 'forgotten', Date.now() * 1_000)
    const large = { title: 'x'.repeat(100_000) }
    const items = Array.from({ length: MAX_ITEMS }, (_, at) => {
      if (at % 97 === 0) return item('submit_conversation', SHORT_BODY['/conversations'](`order-${at}`))
      if (at % 50 === 3) return item('identify_contact', { id: `order-${at}` }, `order-${at}`)
      return feedback(at % 10 === 0 ? 'same' : `order-${at}`, at % 200 === 7 ? large : { title: String(at) })
    })
    const results = resultsOf(await send(items, { Prefer: 'wait=30' }))
    assert.equal(results.length, MAX_ITEMS)
    assert.ok(results.every(({ status, state }) => status < 300 && state !== 'queued'))
    const numbers = await numbersOf(results)
    assert.deepEqual(
      numbers,
      numbers.toSorted((one, other) => one - other),
    )
    const [row] = await service.sql`select title from feedback where source_id = 'same'`
    assert.equal(row!['title'], String(MAX_ITEMS - 10))
  })

  it('has a refusal of its own for each wrong item', async () => {
    const results = resultsOf(
      await send([
        feedback('own-1'),
        item('create_feedback', { description: 'x', emial: 1 }),
        { operation: 'purge_contact', body: { id: 'b' } },
        { body: {} },
        'text',
        feedback('own-2', { title: 'x'.repeat(600_000) }),
        item('create_feedback', { description: 'x' }, ''),
        feedback('own-3'),
      ]),
    )
    assert.deepEqual(
      results.map(({ status }) => status),
      [201, 201, 400, 400, 400, 413, 400, 201],
    )
    assert.deepEqual(
      [2, 3, 4, 6].map((at) => (results[at]!.body as { error: { path: string }[] }).error.map(({ path }) => path)),
      [['operation'], ['operation'], [''], ['idempotencyKey']],
    )
    const [strict] = resultsOf(
      await send([item('create_feedback', { description: 'x', emial: 1 })], { Prefer: 'handling=strict' }),
    )
    assert.deepEqual([strict!.status, (strict!.body as { error: { path: string }[] }).error[0]!.path], [400, 'emial'])
  })

  it('takes bodies as deep as the single operations, and is refused as a whole if a body is deeper', async () => {
    const nested = (levels: number): JsonObject => (levels === 1 ? {} : { a: nested(levels - 1) })
    const sendDeep = (levels: number): Promise<Answer> => send([feedback('deep', { unknown: nested(levels - 1) })])
    assert.equal(resultsOf(await sendDeep(MAX_DEPTH_LEVELS))[0]!.status, 201)
    assert.deepEqual(problemPaths(await sendDeep(MAX_DEPTH_LEVELS + 1)), [''])
  })

  it('is refused as a whole without items, with too many items or bytes, or with a key of its own', async () => {
    const tooMany = Array.from({ length: MAX_ITEMS + 1 }, () => feedback('no'))
    assert.deepEqual(problemPaths(await service.post('/batch', {})), ['items'])
    assert.deepEqual(problemPaths(await send(tooMany)), ['items'])
    assert.deepEqual(problemPaths(await send([feedback('no')], { 'Idempotency-Key': 'x' })), ['Idempotency-Key'])
    const large = Array.from({ length: 11 }, () => feedback('no', { title: 'x'.repeat(500_000) }))
    assert.equal((await send(large)).status, 413)
    const stored = await service.sql`select from feedback where source_id = 'no'`
    assert.equal(stored.length, 0)
  })

  it('can have no items', async () => {
    assert.deepEqual(resultsOf(await send([])), [])
  })
})
