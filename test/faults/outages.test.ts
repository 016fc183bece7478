import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type FaultStack, startFaultStack } from '../support/fault-stack.ts'
import { nothingSeen, type Seen, startLoad, submitOne } from '../support/load.ts'
import { assertNothingLost, assertWellAnswered, recovery, RECOVERED_WITHIN_MS } from '../support/recovery.ts'
import { until } from '../support/until.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
const OUTAGE_MS = LONG ? 60_000 : 10_000
const FULL_BYTES = 24 * 1024 * 1024
const LARGE_TEXT = 'x'.repeat(12_000)
const FULL_DISK_MS = 5_000
/** Generous: a request waits for two time-outs at most, on a machine that may be busy. */
const ANSWERED_WITHIN_MS = 60_000
/** The most lines of log that two processes write in a second of an outage: not every attempt is worth a line. */
const LINES_PER_SECOND = 5

type Asked = { status: number; retryAfter: string | null; text: string; state: string | null }

const ask = async (
  { url, accessToken }: FaultStack,
  path: string,
  { body, token = accessToken, headers }: { body?: object; token?: string; headers?: Record<string, string> } = {},
): Promise<Asked> => {
  const answer = await fetch(`${url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(ANSWERED_WITHIN_MS),
  })
  const text = await answer.text()
  const state = answer.headers.get('Submission-State')
  return {
    status: answer.status,
    retryAfter: answer.headers.get('Retry-After'),
    text,
    state,
  }
}
const assertRefused = (what: string, { status, retryAfter, text }: Asked): void => {
  assert.equal(status, 503, `${what}: ${text}`)
  assert.ok(Number(retryAfter) > 0, `${what} says when to come back`)
}
const FEEDBACK = '/api/v1/feedbacks'
const SUBMISSIONS: Readonly<Record<string, object>> = {
  [FEEDBACK]: { description: 'probe', contact: { email: 'ada@example.com' }, project: { name: 'x' } },
  '/api/v1/contacts/identify': { id: 'x' },
  '/api/v1/accounts/identify': { id: 'x' },
  '/api/v1/conversations': { id: 'x', source: 'x', createdAt: '2026-01-01T00:00:00Z', contacts: [], messages: [] },
}
const PURGE = '/api/v1/contacts/purge'
const RECEIPT = '/api/v1/submissions/01890000-0000-7000-8000-000000000000'

describe('an outage', () => {
  let stack: FaultStack
  before(async () => {
    stack = await startFaultStack()
  })
  after(() => stack?.stop())
  const purge = () => ask(stack, PURGE, { body: { id: 'nobody' }, token: stack.adminToken })
  const lines = (): number => stack.output().split('\n').length
  const isWell = () =>
    until(
      'all is well',
      async () => (await recovery(stack, nothingSeen())) > 0 && (await purge()).status === 404,
      RECOVERED_WITHIN_MS,
    )

  it(`of Postgres for ${OUTAGE_MS / 1_000} s under load: submissions go on being accepted, and are all applied`, async () => {
    await isWell()
    const load = startLoad(stack)
    await until('something is accepted', () => Promise.resolve(load.seen.accepted.size > 20))
    const linesBefore = lines()
    const startedAt = performance.now()
    await stack.kept.postgres.hold()
    const acceptedBefore = load.seen.accepted.size
    let during: number
    try {
      await pause(OUTAGE_MS / 2)
      assertRefused('a purge', await purge())
      assertRefused('an unknown token', await ask(stack, FEEDBACK, { body: {}, token: 'x'.repeat(30) }))
      assert.equal((await ask(stack, '/readyz')).status, 503)
      await pause(OUTAGE_MS / 2)
      during = load.seen.accepted.size - acceptedBefore
    } finally {
      stack.kept.postgres.letGo()
    }
    await load.stop()
    const ms = await recovery(stack, load.seen)
    console.log(
      `${during} accepted while Postgres was away, slowest answer ${Math.round(load.seen.slowestMs)} ms, ` +
        `all applied after ${(ms / 1_000).toFixed(1)} s`,
    )
    assert.ok(during > 20, `${during} accepted meanwhile`)
    const seconds = (performance.now() - startedAt) / 1_000
    assert.ok(lines() - linesBefore < LINES_PER_SECOND * seconds, stack.output())
    await assertNothingLost(stack, load.seen)
    assertWellAnswered(load.seen)
    assert.equal(load.seen.refused + load.seen.unknown, 0, 'whose token was seen lately is never refused')
  })

  it('of a Postgres that hangs: submissions are accepted, all else says when to come back', async () => {
    await isWell()
    const goOn = stack.freeze('postgres')
    try {
      // Longer than a token is trusted without asking.
      for (const end = performance.now() + 6_000; performance.now() < end;) {
        await Promise.all(
          Object.entries(SUBMISSIONS).map(async ([path, body]) => {
            const answer = await ask(stack, path, { body })
            assert.ok(answer.status === 200 || answer.status === 201, `${path}: ${answer.text}`)
          }),
        )
      }
      const waited = await ask(stack, FEEDBACK, { body: SUBMISSIONS[FEEDBACK]!, headers: { Prefer: 'wait=1' } })
      assert.deepEqual([waited.status, waited.state], [201, 'queued'])
      assertRefused('a purge', await purge())
      assertRefused('a receipt', await ask(stack, RECEIPT))
      assertRefused('an unknown token', await ask(stack, FEEDBACK, { body: {}, token: 'x'.repeat(30) }))
      assertRefused('the metrics', await ask(stack, '/metrics', { token: stack.adminToken }))
      const ready = await ask(stack, '/readyz')
      assert.equal(ready.status, 503)
    } finally {
      goOn()
    }
    await isWell()
    await assertNothingLost(stack, nothingSeen())
  })

  it('of a Postgres whose disk is full: submissions are accepted, and stored when there is room', async () => {
    await isWell()
    await stack.sql`
      create function has_no_room() returns trigger language plpgsql as $$
      begin raise exception using errcode = 'disk_full', message = 'could not extend file'; end $$`
    await stack.sql`create trigger full_disk before insert on submission for each statement execute function has_no_room()`
    const load = startLoad(stack)
    try {
      await pause(FULL_DISK_MS)
      const waited = await ask(stack, FEEDBACK, { body: { description: 'probe' }, headers: { Prefer: 'wait=1' } })
      assert.deepEqual([waited.status, waited.state], [201, 'queued'])
    } finally {
      await stack.sql`drop function has_no_room() cascade`
      await load.stop()
    }
    assert.equal(load.seen.refused + load.seen.unknown, 0)
    await recovery(stack, load.seen)
    await assertNothingLost(stack, load.seen)
    assertWellAnswered(load.seen)
    const [used] = await stack.sql<[{ attempts: number }]>`
      select max(attempts) as attempts from submission where id = any (${[...load.seen.accepted.keys()]}::uuid[])`
    assert.equal(used.attempts, 1, 'waiting for room is no attempt that failed')
  })

  for (const how of ['hangs', 'is away'] as const) {
    it(`of a Redis that ${how}: everything says when to come back`, async () => {
      await isWell()
      let goOn = (): void => stack.kept.redis.letGo()
      if (how === 'hangs') goOn = stack.freeze('redis')
      else await stack.kept.redis.hold()
      try {
        const asked = Object.entries(SUBMISSIONS).flatMap(([path, body]): [string, Parameters<typeof ask>[2]][] => [
          [path, { body }],
          [path, { body, headers: { 'Idempotency-Key': 'x', Prefer: 'wait=1' } }],
        ])
        await Promise.all([
          ...asked.map(async ([path, request]) => assertRefused(path, await ask(stack, path, request))),
          ...[purge(), ask(stack, RECEIPT)].map(async (one) => assertRefused('what needs Redis', await one)),
          ask(stack, '/metrics', { token: stack.adminToken }).then(({ status }) =>
            assert.ok([200, 503].includes(status), 'what is known all the same, or when to come back'),
          ),
          ask(stack, '/readyz').then(({ status }) => assert.equal(status, 503)),
        ])
        assert.equal((await ask(stack, '/healthz')).status, 200)
      } finally {
        goOn()
      }
      await isWell()
      await assertNothingLost(stack, nothingSeen())
    })
  }
})

describe('a Redis that fills up', () => {
  let stack: FaultStack
  before(async () => {
    stack = await startFaultStack({ redisMemoryBytes: FULL_BYTES })
  })
  after(() => stack?.stop())

  it('is never full: refusals begin before, and all that was accepted is applied', async () => {
    await stack.kept.worker.hold()
    const seen: Seen = nothingSeen()
    let texts = 0
    const fill = async (): Promise<void> => {
      for (let refused = 0; refused < 5;) {
        if (!(await submitOne(stack, seen, { index: texts++, more: LARGE_TEXT }))) refused++
      }
    }
    await Promise.all(Array.from({ length: 8 }, fill))
    const info = await stack.redis.info('memory')
    const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1])
    console.log(
      `${seen.accepted.size} accepted, then ${seen.refused} refused; Redis at ${Math.round((100 * used) / FULL_BYTES)} %`,
    )
    assertWellAnswered(seen)
    assert.ok(seen.accepted.size > 50)
    // A workspace is refused when it has as much waiting as is left, so that there is room for others.
    assert.ok(used > 0.4 * FULL_BYTES && used < 0.7 * FULL_BYTES, `${used} of ${FULL_BYTES} bytes`)
    stack.kept.worker.letGo()
    const ms = await recovery(stack, seen)
    console.log(`all applied, and open again, after ${(ms / 1_000).toFixed(1)} s`)
    await assertNothingLost(stack, seen)
  })
})
