import assert from 'node:assert/strict'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { readLedgers } from '../support/ledgers.ts'
import { type Ending, exchange, type Piece, type Seen } from '../support/raw-exchange.ts'
import { SERVICE_RUNTIME } from '../support/service-runtime.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const WITHIN_MS = 40_000
/** The runtime cuts off a slow head, and the service a slow body, within this time. */
const SLOW_WITHIN_MS = 90_000

/**
 * The answers to a client: the statuses in their order, with `bare` after a status of the runtime
 * itself, without JSON and request id, and `closed` if the server closes. Only a submission with
 * 201 is stored.
 */
type Expected = { readonly bun: string; readonly deno: string }
type Case = { readonly send: readonly Piece[]; readonly ending?: Ending }

const both = (outcome: string): Expected => ({ bun: outcome, deno: outcome })
const BROKEN = both('400 bare, closed')

/** Pauses, so that a packet is sent alone: a client cannot know that one has been read. */
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20))
const ANSWERED: Piece = { answers: 1 }

describe('HTTP that is broken, rare or cut off', () => {
  let service: Service
  before(async () => {
    service = await startService({ workers: 0 })
  })
  after(() => service?.stop())

  const POST = 'POST /api/v1/feedbacks HTTP/1.1'
  const BODY = JSON.stringify({ description: 'Sent as bytes' })
  const LENGTH = `Content-Length: ${BODY.length}`
  const CHUNKED = 'Transfer-Encoding: chunked'
  const HEXADECIMAL = BODY.length.toString(16)
  const CHUNK = `${HEXADECIMAL}\r\n${BODY}\r\n`
  const LAST = '0\r\n\r\n'
  const TRAILER = '0\r\nX-Sum: 1\r\n\r\n'
  const GARBAGE = 'garbage\r\n\r\n'

  const head = (line: string, ...headers: readonly string[]): string => {
    const usual = [`Authorization: Bearer ${service.accessToken}`, 'Content-Type: application/json']
    return [line, 'Host: x', ...usual, ...headers, '', ''].join('\r\n')
  }
  const post = (...headers: readonly string[]): string => head(POST, ...headers)
  const whole = (...headers: readonly string[]): string => post(...headers, LENGTH) + BODY
  const inChunks = (...headers: readonly string[]): string => post(CHUNKED, ...headers) + CHUNK
  const accepted = async (): Promise<number> => {
    const ledgers = await readLedgers(service.sql, service.redis, service.redisPrefix)
    return ledgers.reduce((total, ledger) => total + ledger.accepted, 0)
  }

  const sees = async ({ send, ending }: Case, expected: string): Promise<void> => {
    const acceptedBefore = await accepted()
    const isEnough = (seen: Seen): boolean => outcomeOf(seen) === expected
    const seen = await exchange(service.urls[0]!, { pieces: send, ending, isEnough, withinMs: WITHIN_MS })
    assert.equal(outcomeOf(seen), expected)
    // A following request is answered afterwards.
    await service.post('/feedbacks', BODY)
    const answered = seen.answers.filter(({ status }) => status === 201).length
    assert.equal((await accepted()) - acceptedBefore - 1, answered, 'only submissions with 201 are stored')
  }
  const table = (
    cases: Readonly<Record<string, readonly [Expected, () => string | readonly Piece[], Ending?]>>,
  ): void => {
    for (const [what, [expected, send, ending]] of Object.entries(cases)) {
      it(`${what}: ${expected[SERVICE_RUNTIME]}`, () => {
        const sent = send()
        return sees(
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
      nothing: [both('201'), () => whole()],
      'none, and the body in chunks': [both('201'), () => inChunks() + LAST],
      'a trailer field': [BUN_BREAKS_OFF, () => inChunks() + TRAILER],
      'a trailer field in a separate packet': [BUN_BREAKS_OFF, () => [inChunks(), pause, TRAILER]],
      'a trailer field after the answer': [
        { bun: '201, 400 bare, closed', deno: '201' },
        () => [`${inChunks()}0\r\n`, ...(SERVICE_RUNTIME === 'bun' ? [ANSWERED] : [pause]), 'X-Sum: 1\r\n\r\n'],
      ],
      'an announced trailer field': [
        { bun: '400, 400 bare, closed', deno: '201' },
        () => inChunks('Trailer: X-Sum') + TRAILER,
      ],
      'an announced trailer field, packet by packet': [
        { bun: '400, 400 bare, closed', deno: '201' },
        () => [post(CHUNKED, 'Trailer: X-Sum'), pause, `${CHUNK}0\r\n`, pause, 'X-Sum: 1\r\n\r\n'],
      ],
      'garbage, and the body in chunks': [garbage, () => inChunks() + LAST + GARBAGE],
      garbage: [garbage, () => whole() + GARBAGE],
      'garbage after the answer': [both('201, 400 bare, closed'), () => [whole(), ANSWERED, GARBAGE]],
      'another request': [{ bun: 'closed', deno: '201, 201' }, () => whole() + whole()],
      'nine other requests': [{ bun: 'closed', deno: TEN }, () => Array.from({ length: 10 }, () => whole()).join('')],
      'nine other requests in chunks': [
        { bun: 'closed', deno: TEN },
        () => Array.from({ length: 10 }, () => inChunks() + LAST).join(''),
      ],
      'half of another request': [{ bun: '201', deno: '201' }, () => whole() + POST],
      'another request after the answer': [both('201, 201'), () => [whole(), ANSWERED, whole()]],
    })
  })

  if (process.env['TEST_SIZE'] === 'long') {
    const trailer = `0\r\nX-Sum: ${'x'.repeat(70_000)}\r\n\r\n`
    // Deno waits for more bytes than it accepts.
    table({ 'a trailer field of 70 KB': [{ bun: '400 bare, closed', deno: '408' }, () => inChunks() + trailer] })
  }

  describe('a method', () => {
    const other = (outcome: string): Expected => ({ bun: 'closed', deno: outcome })
    table({
      'FOO with a body': [other('405'), () => whole().replace('POST', 'FOO')],
      'post in lower case': [other('405'), () => whole().replace('POST', 'post')],
      'get in lower case': [other('405'), () => head('get /api/v1/feedbacks HTTP/1.1')],
      'get in lower case, where GET is right': [other('405'), () => head('get /healthz HTTP/1.1')],
      'FOO where there is nothing': [other('404'), () => head('FOO /nothing HTTP/1.1')],
      'FOO for the board': [other('401'), () => head('FOO /admin/queues HTTP/1.1')],
      'TRACE, which both know': [both('405'), () => head('TRACE /api/v1/feedbacks HTTP/1.1')],
      'CONNECT, which both know': [both('404'), () => head('CONNECT x:1 HTTP/1.1')],
      'OPTIONS for all': [{ bun: '400 bare, closed', deno: '404' }, () => head('OPTIONS * HTTP/1.1')],
    })

    it('that is wrong gets the right ones in the answer, if the runtime knows it', async () => {
      const methods = SERVICE_RUNTIME === 'bun' ? ['TRACE', 'QUERY'] : ['FOO', 'get', 'post', 'QUERY']
      for (const [method, path, allow] of methods.flatMap((one) => [
        [one, '/api/v1/feedbacks', 'GET, POST'],
        [one, '/healthz', 'GET'],
      ])) {
        const seen = await exchange(service.urls[0]!, {
          pieces: [head(`${method} ${path} HTTP/1.1`)],
          isEnough: ({ answers }) => answers.length > 0,
          withinMs: WITHIN_MS,
        })
        assert.equal(outcomeOf(seen), '405')
        assert.match(seen.answers[0]!.head, new RegExp(`^allow: ${allow}\r?$`, 'im'))
      }
    })
  })

  describe('a client that ends the connection', () => {
    const half = { bun: 'closed', deno: '400, closed' }
    const gone = both('closed')
    table({
      'ends its stream within a body': [half, () => whole().slice(0, -3), 'half-close'],
      'ends its stream within a chunk': [half, () => inChunks().slice(0, -8), 'half-close'],
      'ends its stream between chunks': [half, () => inChunks(), 'half-close'],
      'ends its stream before the end of the last chunk': [half, () => [inChunks(), pause, '0'], 'half-close'],
      'ends its stream within a head': [gone, () => post().slice(0, -10), 'half-close'],
      'resets within a body': [gone, () => [whole().slice(0, -3), pause], 'reset'],
      'resets within a chunk': [gone, () => [inChunks().slice(0, -8), pause], 'reset'],
      'resets between chunks': [gone, () => [inChunks(), pause], 'reset'],
    })
  })

  // The wire fuzz sends all other oddities of a head, and compares stored submissions with answers.
  describe('a head', () => {
    const tooLarge = { bun: '431 bare, closed', deno: '400 bare, closed' }
    const version = { bun: '505 bare, closed', deno: '400 bare, closed' }
    const badChunk = { bun: '400 bare, closed', deno: 'closed' }
    const denoTakesIt = { bun: '400 bare, closed', deno: '201' }
    table({
      'with a line that is not a header': [BROKEN, () => whole('No header')],
      'with two lengths': [BROKEN, () => whole('Content-Length: 5')],
      'with one length twice': [both('201'), () => whole(LENGTH)],
      'with a length and chunks': [BROKEN, () => inChunks(LENGTH) + LAST],
      'with a length beyond our bound': [both('413'), () => post('Content-Length: 99999999')],
      'without a length': [both('400'), () => post()],
      'with an unknown transfer coding': [BROKEN, () => post('Transfer-Encoding: x') + CHUNK + LAST],
      'with a transfer coding before chunks': [
        denoTakesIt,
        () => post('Transfer-Encoding: gzip, chunked') + CHUNK + LAST,
      ],
      'with a chunk longer than its size': [badChunk, () => `${post(CHUNKED)}3\r\n${BODY}\r\n${LAST}`],
      'with an extension of a chunk': [both('201'), () => `${post(CHUNKED)}${HEXADECIMAL};a=b\r\n${BODY}\r\n${LAST}`],
      'of HTTP/2.0': [version, () => whole().replace('HTTP/1.1', 'HTTP/2.0')],
      'of HTTP/1.0': [both('201, closed'), () => whole().replace('HTTP/1.1', 'HTTP/1.0')],
      'of 70 KB': [tooLarge, () => whole(`X-Long: ${'x'.repeat(70_000)}`)],
      'without Host': [denoTakesIt, () => whole().replace('Host: x\r\n', '')],
      'with Host twice': [{ bun: '400', deno: '400 bare, closed' }, () => whole('Host: y')],
    })
  })

  it('with one length twice does not disturb other requests while another body arrives', async () => {
    await sees({ send: [whole(LENGTH)] }, '201')
    let status = 0
    const other = async (): Promise<void> => void ({ status } = await service.post('/feedbacks', BODY))
    await exchange(service.urls[0]!, {
      pieces: [post(LENGTH), pause, other, BODY],
      isEnough: ({ answers }) => answers.length > 0,
      withinMs: WITHIN_MS,
    })
    assert.equal(status, 201)
  })

  // The exception in docs/integrate.md: an accepted submission cannot be taken back.
  it('that follows in a later packet, between the acceptance of a submission and its answer', async () => {
    const acceptedBefore = await accepted()
    const isAccepted = (): Promise<unknown> =>
      until('it is accepted', async () => (await accepted()) > acceptedBefore, WITHIN_MS)
    const seen = await exchange(service.urls[0]!, {
      pieces: [whole('Prefer: wait=1'), isAccepted, GARBAGE],
      isEnough: ({ isClosed }) => isClosed,
      withinMs: WITHIN_MS,
    })
    assert.equal(outcomeOf(seen), SERVICE_RUNTIME === 'bun' ? '400 bare, closed' : '201, 400 bare, closed')
    assert.equal(await accepted(), acceptedBefore + 1)
  })

  describe('a client that is slow', () => {
    const START = 'POST /api/v1/feedbacks HTTP/1.1\r\nHost: x\r\n'
    const second = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1_000))
    const trickle = Array.from({ length: 90 }, (): Piece[] => [second, 'x']).flat()
    const closed = (pieces: readonly Piece[]): Promise<Seen> =>
      exchange(service.urls[0]!, { pieces, isEnough: ({ isClosed }) => isClosed, withinMs: SLOW_WITHIN_MS })

    // Deno has no such bound. There a proxy needs one, as docs/operate.md says.
    if (SERVICE_RUNTIME === 'bun') {
      it('with the head of a request is cut off', async () => {
        const heads = [[], [START], [`${START}X-Slow: `, ...trickle]]
        for (const { isClosed, answers } of await Promise.all(heads.map(closed))) {
          assert.ok(isClosed)
          assert.deepEqual(
            answers.filter(({ status }) => status < 400 || status >= 500),
            [],
          )
        }
      })
    }

    if (process.env['TEST_SIZE'] === 'long') {
      it('with the body of a request gets 408, and is cut off if the runtime does so', async () => {
        const pieces = [post('Content-Length: 1000'), '{"description": "', ...trickle]
        const seen = await exchange(service.urls[0]!, {
          pieces,
          isEnough: ({ answers, isClosed }) => (SERVICE_RUNTIME === 'bun' ? isClosed : answers.length > 0),
          withinMs: SLOW_WITHIN_MS,
        })
        assert.equal(outcomeOf(seen), SERVICE_RUNTIME === 'bun' ? '408, closed' : '408')
      })
    }
  })

  describe('an expectation', () => {
    table({
      'to continue, and the body later': [both('201'), () => [post('Expect: 100-continue', LENGTH), pause, BODY]],
      'to continue, and the body at once': [both('201'), () => whole('Expect: 100-continue')],
      'that is unknown is ignored': [both('201'), () => whole('Expect: x')],
    })
  })
})

const outcomeOf = ({ answers, rest, isClosed }: Seen): string =>
  [
    ...answers.map(({ status, isOurs }) => (isOurs ? String(status) : `${status} bare`)),
    ...(rest === '' ? [] : ['rest']),
    ...(isClosed ? ['closed'] : []),
  ].join(', ')
