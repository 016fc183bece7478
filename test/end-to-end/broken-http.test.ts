import assert from 'node:assert/strict'
import process from 'node:process'
import { after, describe, it } from 'node:test'
import { readLedger } from '../support/ledgers.ts'
import { type Ending, exchange, type Piece, type Seen } from '../support/raw-exchange.ts'
import { SERVICE_RUNTIME } from '../support/service-process.ts'
import { idleService } from '../support/shared-service.ts'
import { GUARD_MS, until } from '../support/until.ts'

const service = await idleService()
after(() => service.stop())

/**
 * The answers to a client on each runtime: their statuses in order, and `closed` if the server
 * closes. `bare` marks an answer of the runtime itself, which has no JSON and no request id.
 */
type Expected = { readonly bun: string; readonly deno: string }
type Case = { readonly send: readonly Piece[]; readonly ending?: Ending }

const both = (outcome: string): Expected => ({ bun: outcome, deno: outcome })

/** Separates two packets. A client cannot see whether the server has read the first one. */
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20))
const ANSWERED: Piece = { answers: 1 }

describe('HTTP that is broken, rare or cut off', () => {
  const POST = 'POST /api/v1/feedbacks HTTP/1.1'
  const BODY = JSON.stringify({ description: 'Sent as bytes' })
  const LENGTH = `Content-Length: ${BODY.length}`
  const CHUNKED = 'Transfer-Encoding: chunked'
  const HEXADECIMAL = BODY.length.toString(16)
  const CHUNK = `${HEXADECIMAL}\r\n${BODY}\r\n`
  const TRAILER = '0\r\nX-Sum: 1\r\n\r\n'
  const GARBAGE = 'garbage\r\n\r\n'

  const head = (line: string, ...headers: readonly string[]): string => {
    const usual = [`Authorization: Bearer ${service.accessToken}`, 'Content-Type: application/json']
    return [line, 'Host: x', ...usual, ...headers, '', ''].join('\r\n')
  }
  const post = (...headers: readonly string[]): string => head(POST, ...headers)
  const whole = (...headers: readonly string[]): string => post(...headers, LENGTH) + BODY
  const inChunks = (...headers: readonly string[]): string => post(CHUNKED, ...headers) + CHUNK
  const accepted = async (): Promise<number> => (await readLedger(service)).accepted

  const assertSees = async ({ send, ending }: Case, expected: string): Promise<void> => {
    const acceptedBefore = await accepted()
    const isEnough = (seen: Seen): boolean => outcomeOf(seen) === expected
    const seen = await exchange(service.urls[0]!, { pieces: send, ending, isEnough, withinMs: GUARD_MS })
    assert.equal(outcomeOf(seen), expected)
    // The service still answers.
    await service.post('/feedbacks', BODY)
    const answered = seen.answers.filter(({ status }) => status === 201).length
    assert.equal(
      (await accepted()) - acceptedBefore - 1,
      answered,
      'the service accepted exactly the submissions with 201',
    )
  }
  const table = (
    cases: Readonly<Record<string, readonly [Expected, () => string | readonly Piece[], Ending?]>>,
  ): void => {
    for (const [what, [expected, send, ending]] of Object.entries(cases)) {
      it(`${what}: ${expected[SERVICE_RUNTIME]}`, () => {
        const sent = send()
        return assertSees(
          { send: typeof sent === 'string' ? [sent] : sent, ...(ending && { ending }) },
          expected[SERVICE_RUNTIME],
        )
      })
    }
  }

  describe('bytes after a body', () => {
    const BUN_BREAKS_OFF = { bun: '400 bare, closed', deno: '201' }
    const garbage = { bun: '400 bare, closed', deno: '201, 400 bare, closed' }
    const TEN = Array.from({ length: 10 }, () => '201').join(', ')
    table({
      'a trailer field': [BUN_BREAKS_OFF, () => inChunks() + TRAILER],
      'a trailer field after the answer': [
        { bun: '201, 400 bare, closed', deno: '201' },
        () => [`${inChunks()}0\r\n`, ...(SERVICE_RUNTIME === 'bun' ? [ANSWERED] : [pause]), 'X-Sum: 1\r\n\r\n'],
      ],
      'an announced trailer field': [
        { bun: '400, 400 bare, closed', deno: '201' },
        () => inChunks('Trailer: X-Sum') + TRAILER,
      ],
      garbage: [garbage, () => whole() + GARBAGE],
      'garbage after the answer': [both('201, 400 bare, closed'), () => [whole(), ANSWERED, GARBAGE]],
      'nine other requests': [{ bun: 'closed', deno: TEN }, () => Array.from({ length: 10 }, () => whole()).join('')],
      'another request after the answer': [both('201, 201'), () => [whole(), ANSWERED, whole()]],
    })
  })

  if (process.env['TEST_SIZE'] === 'long') {
    const trailer = `0\r\nX-Sum: ${'x'.repeat(70_000)}\r\n\r\n`
    // Deno accepts 64 KB of trailer fields, and then waits until the time limit for a body.
    table({ 'a trailer field of 70 KB': [{ bun: '400 bare, closed', deno: '408' }, () => inChunks() + trailer] })
  }

  describe('a method', () => {
    const other = (outcome: string): Expected => ({ bun: 'closed', deno: outcome })
    table({
      'FOO with a body': [other('405'), () => whole().replace('POST', 'FOO')],
      'get in lower case, where GET is right': [other('405'), () => head('get /healthz HTTP/1.1')],
      'FOO where there is nothing': [other('404'), () => head('FOO /nothing HTTP/1.1')],
      'TRACE, which both runtimes know': [both('405'), () => head('TRACE /api/v1/feedbacks HTTP/1.1')],
      'TRACE with many parameters': [both('405'), () => head(`TRACE /api/v1/feedbacks?${'a=1&'.repeat(300)} HTTP/1.1`)],
    })

    it('that is wrong gets the allowed methods in the answer, if the runtime accepts it', async () => {
      const methods = SERVICE_RUNTIME === 'bun' ? ['TRACE', 'QUERY'] : ['FOO', 'get', 'post', 'QUERY']
      for (const [method, path, allow] of methods.flatMap((wrong) => [
        [wrong, '/api/v1/feedbacks', 'GET, POST'],
        [wrong, '/healthz', 'GET'],
      ])) {
        const seen = await exchange(service.urls[0]!, {
          pieces: [head(`${method} ${path} HTTP/1.1`)],
          isEnough: ({ answers }) => answers.length > 0,
          withinMs: GUARD_MS,
        })
        assert.equal(outcomeOf(seen), '405')
        assert.match(seen.answers[0]!.head, new RegExp(`^allow: ${allow}\r?$`, 'im'))
      }
    })
  })

  describe('a client that ends the connection', () => {
    const partial = { bun: 'closed', deno: '400, closed' }
    const none = both('closed')
    table({
      'ends its stream within a body': [partial, () => whole().slice(0, -3), 'half-close'],
      'ends its stream between chunks': [partial, () => inChunks(), 'half-close'],
      'ends its stream within a head': [none, () => post().slice(0, -10), 'half-close'],
      'resets within a body': [none, () => [whole().slice(0, -3), pause], 'reset'],
      'resets between chunks': [none, () => [inChunks(), pause], 'reset'],
    })
  })

  // fuzz/wire.test.ts sends other oddities of a head.
  describe('a head', () => {
    const tooLarge = { bun: '431 bare, closed', deno: '400 bare, closed' }
    table({
      'with one length twice': [both('201'), () => whole(LENGTH)],
      'with a length beyond our bound': [both('413'), () => post('Content-Length: 99999999')],
      'without a length': [both('400'), () => post()],
      'of HTTP/1.0': [both('201, closed'), () => whole().replace('HTTP/1.1', 'HTTP/1.0')],
      'of 70 KB': [tooLarge, () => whole(`X-Long: ${'x'.repeat(70_000)}`)],
    })
  })

  // Otherwise an answer of the runtime means that nothing is accepted (docs/integrate.md).
  it('in a later packet, between the acceptance of a submission and its answer, does not undo the acceptance', async () => {
    const acceptedBefore = await accepted()
    const untilAccepted = (): Promise<unknown> =>
      until('the submission is accepted', async () => (await accepted()) > acceptedBefore)
    const seen = await exchange(service.urls[0]!, {
      pieces: [whole('Prefer: wait=1'), untilAccepted, GARBAGE],
      isEnough: ({ isClosed }) => isClosed,
      withinMs: GUARD_MS,
    })
    assert.equal(outcomeOf(seen), SERVICE_RUNTIME === 'bun' ? '400 bare, closed' : '201, 400 bare, closed')
    assert.equal(await accepted(), acceptedBefore + 1)
  })

  describe('a client that is slow', () => {
    const START = 'POST /api/v1/feedbacks HTTP/1.1\r\nHost: x\r\n'
    const second = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1_000))
    const trickle = Array.from({ length: 90 }, (): Piece[] => [second, 'x']).flat()
    const untilClosed = (pieces: readonly Piece[]): Promise<Seen> =>
      exchange(service.urls[0]!, { pieces, isEnough: ({ isClosed }) => isClosed, withinMs: GUARD_MS })

    // On Deno a proxy has to limit the time of a head, as docs/operate/servers.md says.
    if (SERVICE_RUNTIME === 'bun') {
      it('with the head of a request is cut off', async () => {
        const heads = [[], [START], [`${START}X-Slow: `, ...trickle]]
        for (const { isClosed, answers } of await Promise.all(heads.map(untilClosed))) {
          assert.ok(isClosed)
          assert.deepEqual(
            answers.filter(({ status }) => status < 400 || status >= 500),
            [],
          )
        }
      })
    }

    if (process.env['TEST_SIZE'] === 'long') {
      it('with the body of a request gets 408, and Bun closes the connection', async () => {
        const pieces = [post('Content-Length: 1000'), '{"description": "', ...trickle]
        const seen = await exchange(service.urls[0]!, {
          pieces,
          isEnough: ({ answers, isClosed }) => (SERVICE_RUNTIME === 'bun' ? isClosed : answers.length > 0),
          withinMs: GUARD_MS,
        })
        assert.equal(outcomeOf(seen), SERVICE_RUNTIME === 'bun' ? '408, closed' : '408')
      })
    }
  })
})

const outcomeOf = ({ answers, rest, isClosed }: Seen): string =>
  [
    ...answers.map(({ status, isOurs }) => (isOurs ? String(status) : `${status} bare`)),
    ...(rest === '' ? [] : ['rest']),
    ...(isClosed ? ['closed'] : []),
  ].join(', ')
