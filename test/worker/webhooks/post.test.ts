import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { createServer as createSecureServer } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { makeAuthority } from '../../support/certificates.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const RUNTIMES = {
  Bun: [join(root, 'node_modules/.bin/bun'), '-e'],
  Deno: [join(root, 'node_modules/.bin/deno'), 'eval'],
} as const
const MOST_TAKEN_BYTES = 8 * 1024 * 1024

const authority = makeAuthority()
let taken = 0

/** Writes a text again and again, as fast as the client takes it. */
const flood =
  (text: string, first = '') =>
  (socket: Socket): void => {
    const block = text.repeat(Math.ceil(65_536 / text.length))
    const write = (): void => {
      while (!socket.destroyed && socket.write(block)) taken += block.length
    }
    socket.write(first)
    socket.on('drain', write)
    write()
  }

/** Answers in pieces, each after the one before has left. */
const answer =
  (...pieces: readonly string[]) =>
  (socket: Socket): void => {
    for (const piece of pieces) socket.write(piece)
  }

const NO_CONTENT = 'HTTP/1.1 204 No Content\r\n\r\n'
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n'

/** What a receiver does with a connection, and how the POST ends. */
const RECEIVERS: Readonly<Record<string, readonly [handle: (socket: Socket) => void, end: unknown]>> = {
  'a confirmation': [answer(NO_CONTENT), 204],
  'informational heads before the answer': [answer(HINTS, HINTS, 'HTTP/1.1 100 Continue\r\n\r\n', NO_CONTENT), 204],
  'an endless body': [flood('x', 'HTTP/1.1 200 OK\r\n\r\n'), 200],
  'endless informational heads': [flood(HINTS), 'HEAD_TOO_LONG'],
  'an endless header': [flood('x', 'HTTP/1.1 200 OK\r\nX: '), 'HEAD_TOO_LONG'],
  'endless headers': [flood('X: y\r\n', 'HTTP/1.1 200 OK\r\n'), 'HEAD_TOO_LONG'],
  'another protocol': [answer('SSH-2.0-OpenSSH_9.6\r\n\r\n'), 'NOT_HTTP'],
  'an end without an answer': [(socket) => socket.end(), 'ECONNRESET'],
  'half a head': [(socket) => socket.end('HTTP/1.1 204 No Content\r\nX'), 'ECONNRESET'],
}
const names = Object.keys(RECEIVERS)

const SCRIPT = `
  import { Buffer } from 'node:buffer'
  import process from 'node:process'
  const { post } = await import('./worker/webhooks/post.ts')
  const headers = { 'Content-Type': 'application/json' }
  const of = { body: Buffer.from('{"a":"é"}'), headers, allowedHosts: ['localhost', '127.0.0.1'], stop: new AbortController().signal }
  const end = (url) => post(new URL(url), of).then(({ status }) => status, ({ code, name }) => code ?? name)
  const ends = []
  for (const url of JSON.parse(process.env.URLS)) ends.push(await end(url))
  console.log(JSON.stringify(ends))
  process.exit(0)`

describe('a POST to a receiver', () => {
  const servers: Server[] = []
  let dir = ''

  const listen = async (server: Server): Promise<number> => {
    servers.push(server)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    return (server.address() as AddressInfo).port
  }
  const serve = (handle: (socket: Socket) => void): Promise<number> =>
    listen(
      createServer((socket) => {
        socket.on('error', () => {})
        socket.once('data', () => handle(socket))
      }),
    )
  const endsOn = async (runtime: keyof typeof RUNTIMES, urls: readonly string[]): Promise<unknown[]> => {
    const [program, ...words] = RUNTIMES[runtime]
    const { PATH, HOME } = process.env
    const ca = join(dir, 'ca.pem')
    const { stdout } = await promisify(execFile)(program, [...words, SCRIPT], {
      cwd: root,
      env: { PATH, HOME, URLS: JSON.stringify(urls), NODE_EXTRA_CA_CERTS: ca, DENO_CERT: ca },
    })
    return JSON.parse(stdout) as unknown[]
  }

  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'post-'))
    await writeFile(join(dir, 'ca.pem'), authority.certificate)
  })
  after(async () => {
    for (const server of servers) server.close()
    await rm(dir, { recursive: true })
  })

  for (const runtime of ['Bun', 'Deno'] as const) {
    it(`reads the head of each answer and no more, on ${runtime}`, async () => {
      const ports = await Promise.all(Object.values(RECEIVERS).map(([handle]) => serve(handle)))
      taken = 0
      const ends = await endsOn(
        runtime,
        ports.map((port) => `http://localhost:${port}/hook?a=b`),
      )
      assert.deepEqual(
        Object.fromEntries(names.map((name, at) => [name, ends[at]])),
        Object.fromEntries(names.map((name) => [name, RECEIVERS[name]![1]])),
      )
      assert.ok(taken < names.length * MOST_TAKEN_BYTES, `${taken} bytes`)
    })

    it(`is a whole request in HTTP/1.1, on ${runtime}`, async () => {
      let received = ''
      const port = await serve(() => {})
      servers.at(-1)!.on('connection', (socket: Socket) => {
        socket.on('data', (bytes) => {
          received += String(bytes)
          if (received.endsWith('}')) socket.write(NO_CONTENT)
        })
      })
      assert.deepEqual(await endsOn(runtime, [`http://127.0.0.1:${port}/a%20b?c=d#e`]), [204])
      assert.equal(
        received,
        `POST /a%20b?c=d HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: 10\r\nConnection: close\r\n\r\n{"a":"é"}`,
      )
    })

    it(`needs a valid certificate for the host, on ${runtime}`, async () => {
      const secure = (issued: { certificate: string; key: string }): Promise<number> =>
        listen(
          createSecureServer({ cert: issued.certificate, key: issued.key }, (socket) => {
            socket.on('error', () => {})
            socket.once('data', () => socket.write(NO_CONTENT))
          }),
        )
      const [right, address, other, untrusted] = await Promise.all([
        secure(authority.issueFor('localhost')),
        secure(authority.issueFor('127.0.0.1')),
        secure(authority.issueFor('other.example')),
        secure(makeAuthority().issueFor('localhost')),
      ])
      const ends = await endsOn(runtime, [
        `https://localhost:${right}/`,
        `https://127.0.0.1:${address}/`,
        `https://localhost:${other}/`,
        `https://127.0.0.1:${other}/`,
        `https://localhost:${untrusted}/`,
      ])
      assert.deepEqual(ends.slice(0, 2), [204, 204])
      for (const end of ends.slice(2)) assert.equal(typeof end, 'string', JSON.stringify(ends))
    })
  }
})
