import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Submission } from '../../demo/demo-data.ts'
import { Refused, submitAll, Unreachable } from '../../demo/submit.ts'

const submissions = (count: number): Submission[] =>
  Array.from({ length: count }, (_, at) => ({ path: 'feedbacks', body: { description: `text ${at}` } }))

/** A service whose answers are given one after the other, then 201; it keeps what it was sent. */
const scripted = (...answers: (() => Response)[]) => {
  const bodies: string[] = []
  const waits: string[] = []
  let inFlight = 0
  const seen = { bodies, waits, done: 0, mostInFlight: 0 }
  const deps = {
    service: { url: 'http://service.test', accessToken: 'token-for-a-test' },
    fetch: async (url: string, init: RequestInit) => {
      assert.equal(url, 'http://service.test/api/v1/feedbacks')
      assert.equal(new Headers(init.headers).get('authorization'), 'Bearer token-for-a-test')
      seen.mostInFlight = Math.max(seen.mostInFlight, ++inFlight)
      await Promise.resolve()
      inFlight--
      assert.ok(typeof init.body === 'string')
      bodies.push(init.body)
      return (answers.shift() ?? (() => new Response('{}', { status: 201 })))()
    },
    wait: async () => {},
    onWait: (seconds: number, reason: string) => void waits.push(`${reason} ${seconds}`),
    onDone: () => void seen.done++,
  }
  return { deps, seen }
}

test('sends each once, sixteen at a time', async () => {
  const { deps, seen } = scripted()
  await submitAll(submissions(50), deps)
  assert.equal(new Set(seen.bodies).size, 50)
  assert.equal(seen.bodies.length, 50)
  assert.equal(seen.done, 50)
  assert.equal(seen.mostInFlight, 16)
})

test('waits as long as it is told and sends again', async () => {
  const { deps, seen } = scripted(
    () => new Response('{}', { status: 429, headers: { 'retry-after': '42' } }),
    () => new Response('{}', { status: 503 }),
  )
  await submitAll(submissions(1), deps)
  assert.deepEqual(seen.waits, ['rate limit 42', 'service is busy 5'])
  assert.equal(seen.bodies.length, 3)
  assert.equal(seen.done, 1)
})

test('stops when a submission is refused, and says why', async () => {
  const { deps, seen } = scripted(() => new Response('{"error":"no"}', { status: 401 }))
  await assert.rejects(submitAll(submissions(500), deps), (error: unknown) => {
    assert.ok(error instanceof Refused)
    assert.match(error.message, /feedbacks was answered 401: \{"error":"no"\}/)
    return true
  })
  assert.ok(seen.bodies.length < 100)
})

test('gives up on a service that never has time', async () => {
  const busy = Array.from({ length: 100 }, () => () => new Response('{}', { status: 503 }))
  await assert.rejects(submitAll(submissions(1), scripted(...busy).deps), Refused)
})

test('tells a service that is away from one that refuses', async () => {
  const { deps } = scripted(() => {
    throw new TypeError('connection refused')
  })
  await assert.rejects(submitAll(submissions(1), deps), Unreachable)
})
