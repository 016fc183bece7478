import * as fc from 'fast-check'

/** The parts of a request, as text. */
export type Message = { line: string; headers: string[]; framing: string[]; body: string }
/** A change that makes a request malformed or rare, or adds bytes after it. */
export type Odd = {
  readonly what: string
  /** The bytes of the changed request, as text. */
  readonly toText: (message: Message) => string
}

const CHUNKED = 'Transfer-Encoding: chunked'
export const LAST_CHUNK = '0\r\n\r\n'
export const textOf = ({ line, headers, framing, body }: Message): string =>
  `${[line, ...headers, ...framing].join('\r\n')}\r\n\r\n${body}`
const chunksOf = (body: string, at: number): string =>
  [body.slice(0, at), body.slice(at)]
    .filter((chunk) => chunk !== '')
    .map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
    .join('')
export const inChunks = (message: Message, end: string, at = 20): Message => ({
  ...message,
  framing: [CHUNKED],
  body: chunksOf(message.body, at) + end,
})
const withHeader =
  (...headers: string[]) =>
  (message: Message): string =>
    textOf({ ...message, headers: [...message.headers, ...headers] })
const framed =
  (...framing: string[]) =>
  (message: Message): string =>
    textOf({ ...message, framing })

const withLine =
  (part: string | RegExp, by: string) =>
  (message: Message): string =>
    textOf({ ...message, line: message.line.replace(part, by) })

const METHODS = ['FOO', 'post', 'get', 'PoST', 'GET', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'P@ST', 'POST\t', '']
const TARGETS = [
  ['*', '', 'x', '/', '//x/api/v1/feedbacks', 'http://y/api/v1/feedbacks', '/api/v1/feedbacks#x', '/a b'],
  ['/\xff', '/%'],
].flat()
const VERSIONS = ['HTTP/1.0', 'HTTP/2.0', 'HTTP/1.2', 'HTTP/0.9', 'http/1.1', 'HTTP/1.1 ', 'HTTP/1', '', 'HTTP/11', 'x']
const many = (count: number): string => Array.from({ length: count }, (_, at) => `X-${at}: 1`).join('\r\n')
const HEADERS = [
  ['No header', 'X : a', ': a', 'X: a\r\n b', 'X: a\0b', 'X: a\rb', 'X: \xff\x7f', 'X\xff: a', 'X(: a'],
  ['Host: y', 'Host:', 'Host: a b', 'Connection: close', 'Connection: keep-alive, close, x', 'Expect: 100-continue'],
  [
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  ],
  ['Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__'],
  ['Expect: x', 'Trailer: X-Sum', 'TE: trailers', 'Content-Type: text/plain', 'Content-Encoding: gzip'],
  ['Authorization: Bearer x', 'Authorization: Bearer x\r\nAuthorization: Bearer y'],
  [`X-Long: ${'x'.repeat(15_000)}`, `X-Long: ${'x'.repeat(600_000)}`, many(120), many(400)],
].flat()
const LENGTHS = [
  ['-1', '+5', '5, 5', '0x10', '1e2', '5 5', '', '99999999999999999999', '4294967297', '\xb2'],
  ['18446744073709551616'],
].flat()
const CODINGS = [
  ['x', 'gzip, chunked', 'chunked, chunked', 'chunked, gzip', 'identity', 'Chunked', ' chunked ', 'xchunked'],
  ['"chunked"', 'chunked;q=1', ''],
].flat()
const SIZES = [
  ['zz', '', '-1', '+5', '0x5', 'fffffffffffffffff', '5 ', ' 5', '5;a=b', `5;${'x'.repeat(20_000)}`, '5\n'],
  ['0000000000000000000005'],
].flat()
/** Bytes after a last chunk. */
const TAILS = [
  ['X-Sum: 1', 'X-Sum: 1\r\nX-Other: 2', 'Content-Length: 5', 'Host: y\r\nAuthorization: Bearer x', 'no field'],
  [`X-Sum: ${'x'.repeat(30_000)}`],
]
  .flat()
  .map((fields) => `${fields}\r\n\r\n`)
/** Bytes after a body. */
const REMAINDERS = [
  ['garbage\r\n\r\n', '\r\n\r\n\r\n', '\0\0\0\0\r\n\r\n', 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n', '{}\r\n\r\n'],
  ['HTTP/1.1 200 OK\r\n\r\n', LAST_CHUNK],
].flat()
/** Each replaces a byte of a head or of the framing of chunks, or stands before that byte. */
const BYTES = ['', '\r', '\n', '\r\n', '\0', ' ', '\t', ':', 'x', '0', '\xff', '\r\n\r\n']

const odd = (what: string, toText: Odd['toText']): Odd => ({ what, toText })
const anyOf = (what: string, texts: readonly string[], toTextOf: (text: string) => Odd['toText']) =>
  fc.constantFrom(...texts).map((text) => odd(`${what} ${text.slice(0, 40)}`, toTextOf(text)))

/** No oddity changes the id in the body, which identifies the stored submission. */
export const oddities: fc.Arbitrary<Odd> = fc.oneof(
  anyOf('method', METHODS, (method) => withLine('POST', method)),
  anyOf('target', TARGETS, (target) => withLine(/\/\S+/, target)),
  anyOf('version', VERSIONS, (version) => withLine('HTTP/1.1', version)),
  anyOf('header', HEADERS, (header) => withHeader(header)),
  anyOf('length', LENGTHS, (length) => framed(`Content-Length: ${length}`)),
  anyOf(
    'coding',
    CODINGS,
    (coding) => (message) => textOf({ ...inChunks(message, LAST_CHUNK), framing: [`Transfer-Encoding: ${coding}`] }),
  ),
  anyOf(
    'size',
    SIZES,
    (size) => (message) =>
      textOf({ ...message, framing: [CHUNKED], body: `${size}\r\n${message.body}\r\n${LAST_CHUNK}` }),
  ),
  anyOf('tail', TAILS, (tail) => (message) => textOf(inChunks(message, `0\r\n${tail}`))),
  anyOf(
    'tail announced',
    TAILS,
    (tail) => (message) => withHeader('Trailer: X-Sum')(inChunks(message, `0\r\n${tail}`)),
  ),
  anyOf('bytes after the body', REMAINDERS, (rest) => (message) => textOf(message) + rest),
  anyOf('bytes after the chunks', REMAINDERS, (rest) => (message) => textOf(inChunks(message, LAST_CHUNK)) + rest),
  fc
    .integer({ min: -30, max: 30 })
    .map((by) =>
      odd(`length off by ${by}`, (message) => framed(`Content-Length: ${message.body.length + by}`)(message)),
    ),
  fc.constantFrom<Odd>(
    odd('no Host', (message) =>
      textOf({ ...message, headers: message.headers.filter((one) => !one.startsWith('Host')) }),
    ),
    odd('LF alone', (message) => textOf(message).replaceAll('\r\n', '\n')),
    odd('no framing', (message) => textOf({ ...message, framing: [] })),
    odd('two lengths', (message) => framed(...message.framing, 'Content-Length: 3')(message)),
    odd('one length twice', (message) => framed(...message.framing, ...message.framing)(message)),
    odd('length and chunks', (message) => framed(...message.framing, CHUNKED)(inChunks(message, LAST_CHUNK))),
    odd('chunks and length', (message) => framed(CHUNKED, ...message.framing)(inChunks(message, LAST_CHUNK))),
    odd('no last chunk', (message) => textOf(inChunks(message, ''))),
    odd('a last chunk without its end', (message) => textOf(inChunks(message, '0\r\n'))),
    odd('TLS', () => '\u0016\u0003\u0001\u0002\0\u0001\0\u0001\u00fc\u0003\u0003'),
    odd('HTTP/2', (message) => `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${textOf(message)}`),
    odd('empty lines', (message) => `\r\n\r\n${textOf(message)}`),
  ),
  fc
    .record({ at: fc.nat(), by: fc.constantFrom(...BYTES), chunked: fc.boolean(), keeps: fc.boolean() })
    .map(({ at, by, chunked, keeps }) =>
      odd(`byte ${at}`, (message) =>
        mutated(textOf(chunked ? inChunks(message, LAST_CHUNK, message.body.length) : message), message.body, {
          at,
          by,
          keeps,
        }),
      ),
    ),
)

const mutated = (text: string, body: string, { at, by, keeps }: { at: number; by: string; keeps: boolean }): string => {
  const bodyAt = text.indexOf(body)
  const place = at % (text.length - body.length)
  const from = place < bodyAt ? place : place + body.length
  return text.slice(0, from) + by + text.slice(keeps ? from : from + 1)
}
