import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { isRefusal } from '../../../api/http/refusal.ts'
import { mostBytesOf, parseBody, receiveBody } from '../../../api/http/read-body.ts'
import { seeded } from '../../support/property-seed.ts'

const LIMITS = { maxBytes: 100_000, maxDepth: 64, timeoutMs: 30_000 }
const JSON_TYPE = { 'content-type': 'application/json' }
const GZIP = { ...JSON_TYPE, 'content-encoding': 'gzip' }

type Part = Uint8Array | (() => Promise<Uint8Array>)

/** A request whose body arrives in exactly these parts. */
const inParts = (
  parts: Iterable<Part>,
  headers: Record<string, string> = JSON_TYPE,
  onCancel?: () => void,
): Request => {
  const iterator = parts[Symbol.iterator]()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = iterator.next()
        if (next.done) controller.close()
        else controller.enqueue(typeof next.value === 'function' ? await next.value() : next.value)
      },
      cancel: () => onCancel?.(),
    },
    { highWaterMark: 0 },
  )
  const init: RequestInit & { duplex: 'half' } = { method: 'POST', headers, body, duplex: 'half' }
  return new Request('http://localhost/', init)
}

/** A request whose body arrives at once, with its length in the head, as from a client. */
const whole = (body: string | Uint8Array, headers: Record<string, string> = JSON_TYPE): Request => {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return new Request('http://localhost/', {
    method: 'POST',
    headers: { 'content-length': String(bytes.byteLength), ...headers },
    body: new Uint8Array(bytes),
  })
}

type Read = ReturnType<typeof parseBody>

const read = async (request: Request, limits: Partial<typeof LIMITS> = {}): Promise<Read> => {
  const { maxDepth, maxBytes, timeoutMs } = { ...LIMITS, ...limits }
  const body = await receiveBody(request, maxBytes, timeoutMs)
  return isRefusal(body) ? body : parseBody(body, maxDepth)
}

const never = (): Promise<Uint8Array> => new Promise(() => {})

const reasonOf = (result: Read): string => (isRefusal(result) ? result.refused : 'none')
const messageOf = (result: Read): string => ('problems' in result ? result.problems[0]!.message : 'none')

describe('the type of a body', () => {
  const taken = [
    ['application/json', 'application/json; charset=utf-8', 'Application/JSON ;Charset="UTF-8" ; profile=x'],
    ['application/json, application/json', 'application/json, application/json; charset=utf-8'],
  ].flat()
  const refused = [
    [
      '',
      'text/plain',
      'application/jsonp',
      'application/problem+json',
      'application/x-www-form-urlencoded',
      'text/json',
    ],
    ['application/json, text/plain', 'application/json; charset=iso-8859-1', 'application/json; charset=utf-16'],
  ].flat()
  const reason = async (headers: Record<string, string>): Promise<string> => reasonOf(await read(whole('{}', headers)))

  it('is JSON in UTF-8, plain or gzip', async () => {
    for (const type of taken) assert.equal(await reason({ 'content-type': type }), 'none', type)
    for (const type of refused) assert.equal(await reason({ 'content-type': type }), 'not-json', type)
    assert.equal(await reason({}), 'not-json')
    for (const encoding of ['', 'identity', 'identity, identity', ','])
      assert.equal(await reason({ ...GZIP, 'content-encoding': encoding }), 'none')
    for (const encoding of ['X-GZip', 'gzip, gzip', 'gzip,x-gzip', 'gzip, identity']) {
      const request = whole(gzipSync('{}'), { ...JSON_TYPE, 'content-encoding': encoding })
      assert.equal(reasonOf(await read(request)), 'none', encoding)
    }
    for (const encoding of ['br', 'deflate', 'compress', 'gzip, br', 'gzipx']) {
      assert.equal(await reason({ ...JSON_TYPE, 'content-encoding': encoding }), 'not-json', encoding)
    }
  })
})

describe('a body', () => {
  const value = { description: 'Grüße, 東京 \u{1F600}', rating: 4.5, sourceData: { a: [1, null, true, '"\\'] } }
  const bytes = Buffer.from(JSON.stringify(value))
  const asSent = { value }

  it('is the value of JSON.parse, in any parts', async () => {
    const cut = (content: Uint8Array, sizes: number[]): Uint8Array[] => {
      const starts = sizes.reduce<number[]>((all, size) => [...all, (all.at(-1) ?? 0) + size], [0])
      return starts.map((start, index) => content.subarray(start, starts[index + 1]))
    }
    const sizes = fc.array(fc.nat(40), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(fc.json({ stringUnit: 'binary' }), sizes, fc.boolean(), async (text, pieces, compressed) => {
        const sent = compressed ? gzipSync(Buffer.from(text)) : Buffer.from(text)
        const result = await read(inParts(cut(sent, pieces), compressed ? GZIP : JSON_TYPE))
        assert.ok('value' in result)
        assert.equal(JSON.stringify(result.value), JSON.stringify(JSON.parse(text)))
      }),
      seeded(),
    )
  })

  it('may begin with one byte order mark', async () => {
    const mark = Uint8Array.of(0xef, 0xbb, 0xbf)
    assert.deepEqual(await read(whole(Buffer.concat([mark, bytes]))), asSent)
    assert.equal(reasonOf(await read(whole(Buffer.concat([mark, mark, bytes])))), 'invalid')
  })
})

describe('a body that is too large', () => {
  const exact = JSON.stringify('x'.repeat(LIMITS.maxBytes - 2))

  it('is one byte over the limit, in any form', async () => {
    const over = `${exact} `
    const halves = (text: string) => [Buffer.from(text.slice(0, 50_000)), Buffer.from(text.slice(50_000))]
    assert.equal(reasonOf(await read(whole(exact))), 'none')
    assert.equal(reasonOf(await read(whole(over))), 'too-large')
    assert.equal(reasonOf(await read(inParts(halves(exact)))), 'none')
    assert.equal(reasonOf(await read(inParts(halves(over)))), 'too-large')
    assert.equal(reasonOf(await read(whole(gzipSync(exact), GZIP))), 'none')
    assert.equal(reasonOf(await read(whole(gzipSync(over), GZIP))), 'too-large')
    assert.equal(reasonOf(await read(whole(gzipSync(exact, { level: 0 }), GZIP))), 'none')
    assert.equal(reasonOf(await read(whole('"abc"'), { maxBytes: 4 })), 'too-large')
  })

  it('is refused by its announced length, unread', async () => {
    const headers = { ...JSON_TYPE, 'content-length': String(LIMITS.maxBytes + 1) }
    assert.equal(reasonOf(await read(inParts([never], headers))), 'too-large')
  })

  it('is refused and cancelled at the first byte over the limit', async () => {
    let cancelled = false
    const endless = Array.from({ length: 3 }, (): Part => Buffer.alloc(50_000, ' '))
    const request = inParts([...endless, never], JSON_TYPE, () => (cancelled = true))
    assert.equal(reasonOf(await read(request)), 'too-large')
    assert.ok(cancelled)
  })

  it('may be a gzip bomb, which is refused before its end', async () => {
    // 60 MiB of spaces, in compressed members of about 1 KiB each. The end is never sent.
    const member = gzipSync(Buffer.alloc(1024 * 1024, ' '))
    const bomb = Buffer.concat(Array.from({ length: 60 }, () => member))
    assert.equal(reasonOf(await read(inParts([bomb, never], GZIP))), 'too-large')
  })

  it('may be endless gzip that inflates to nothing', async () => {
    const nothing = Buffer.concat(Array.from({ length: 500 }, () => gzipSync('')))
    const endless = function* (): Generator<Part> {
      for (;;) yield nothing
    }
    assert.equal(reasonOf(await read(inParts(endless(), GZIP))), 'too-large')
  })
})

describe('a body that is too slow', () => {
  for (const [how, headers] of Object.entries({ plain: JSON_TYPE, compressed: GZIP })) {
    it(`is given up and cancelled, ${how}`, async () => {
      let cancelled = false
      const start = how === 'plain' ? Buffer.from('{') : gzipSync('{}').subarray(0, 12)
      const request = inParts([start, never], headers, () => (cancelled = true))
      assert.deepEqual(await read(request, { timeoutMs: 5 }), { refused: 'too-slow' })
      assert.ok(cancelled)
    })
  }

  it('may be small and have an announced length', async () => {
    const request = inParts([Buffer.from('{'), never], { ...JSON_TYPE, 'content-length': '2' })
    assert.deepEqual(await read(request, { timeoutMs: 5 }), { refused: 'too-slow' })
  })
})

describe('a body that is malformed', () => {
  const bodies: Record<string, [request: () => Request, message: RegExp]> = {
    'an empty body': [() => new Request('http://localhost/', { method: 'POST', headers: JSON_TYPE }), /not empty/],
    'no bytes': [() => whole(''), /not empty/],
    'no bytes in parts': [() => inParts([]), /not empty/],
    'a byte that is not UTF-8': [() => whole(Buffer.from([0x22, 0xff, 0x22])), /UTF-8/],
    'a character without its end': [() => whole(Buffer.from([0x22, 0xc3])), /UTF-8/],
    'Latin-1': [() => whole(Buffer.from('"é"', 'latin1')), /UTF-8/],
    'a surrogate in UTF-8': [() => whole(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])), /UTF-8/],
    'no JSON': [() => whole('{"a":secret}'), /must be valid JSON/],
    'bytes that are not gzip': [() => whole('{}', GZIP), /gzip/],
    'no bytes of gzip': [() => whole('', GZIP), /gzip/],
    'cut gzip': [() => whole(gzipSync('{}').subarray(0, -3), GZIP), /gzip/],
    'bytes after gzip': [() => whole(Buffer.concat([gzipSync('{}'), Buffer.from('x')]), GZIP), /gzip/],
    'damaged gzip': [
      () =>
        whole(
          gzipSync('{"a":1}').map((byte, at) => (at === 14 ? byte ^ 0xff : byte)),
          GZIP,
        ),
      /gzip/,
    ],
  }
  it('is refused with a message that says what was expected and never quotes the body', async () => {
    for (const [what, [request, message]] of Object.entries(bodies)) {
      const result = await read(request())
      assert.match(messageOf(result), message, what)
      assert.ok(!JSON.stringify(result).includes('secret'))
    }
  })

  for (const [how, headers] of Object.entries({ plain: JSON_TYPE, compressed: GZIP })) {
    it(`is refused as cut off if its connection is lost, ${how}`, async () => {
      const lost = () => Promise.reject(new Error('connection lost'))
      const start = how === 'plain' ? Buffer.from('{') : gzipSync('{}').subarray(0, 12)
      assert.equal(
        messageOf(await read(inParts([start, lost], headers))),
        'The body was cut off: send it again as a whole',
      )
    })
  }

  it('may be cut off after its refusal, without an unhandled rejection', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown) => unhandled.push(error)
    process.on('unhandledRejection', note)
    const { promise, reject } = Promise.withResolvers<Uint8Array>()
    const request = inParts([Buffer.from('{'), () => promise], { ...JSON_TYPE, 'content-length': '2' })
    assert.equal(reasonOf(await read(request, { timeoutMs: 5 })), 'too-slow')
    reject(new Error('connection lost'))
    // A runtime may report an unhandled rejection in a later turn of the event loop.
    await new Promise((resolve) => setTimeout(resolve))
    await new Promise((resolve) => setTimeout(resolve))
    process.off('unhandledRejection', note)
    assert.deepEqual(unhandled, [])
  })
})

describe('the most bytes of a body', () => {
  const mostWith = (...headers: [name: string, value: string][]): number =>
    mostBytesOf(new Request('http://localhost/', { method: 'POST', headers }), LIMITS.maxBytes)
  const five: [string, string] = ['content-length', '5']

  it('are the announced length, or the limit if that is smaller', () => {
    assert.equal(mostWith(five), 5)
    assert.equal(mostWith(['content-length', '99999999']), LIMITS.maxBytes)
  })

  it('are the limit for a body in chunks, in gzip, without a length or with a repeated length', () => {
    assert.equal(mostWith(), LIMITS.maxBytes)
    assert.equal(mostWith(five, ['transfer-encoding', 'chunked']), LIMITS.maxBytes)
    assert.equal(mostWith(five, ['content-encoding', 'gzip']), LIMITS.maxBytes)
    for (const twice of ['5, 5', '5, 05']) assert.equal(mostWith(['content-length', twice]), LIMITS.maxBytes)
  })
})
