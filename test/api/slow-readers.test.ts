import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import process from 'node:process'
import { after, before, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { type DearRequest, dearRequests, headersOf, priceOfAnswer } from '../support/dear-answers.ts'
import { seeded } from '../support/property-seed.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { describeWhere } from '../support/where.ts'

const LONG = process.env['TEST_SIZE'] === 'long'
const CLIENTS = 20
const ITEMS = 500
/** The search for dear answers tries `TRIED` requests, and keeps the `KEPT` dearest. */
const TRIED = LONG ? 60 : 10
const KEPT = LONG ? 3 : 1
const MOST_GROWTH_MB = 300
const MOST_PROBLEMS = 100
const MB = 1024 * 1024

const MISSING = process.platform === 'linux' ? undefined : 'there is no /proc'

describeWhere('a small request with a large answer', MISSING, () => {
  let service: Service
  const sockets: Socket[] = []
  before(async () => {
    service = await startService({ workers: 0 })
  })
  after(async () => {
    for (const socket of sockets) socket.destroy()
    await service?.stop()
  })

  const residentMb = (): number =>
    Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${service.apiPids[0]}/status`, 'utf8'))![1]) / 1024

  const sendUnread = (request: DearRequest): void => {
    const { hostname, port } = new URL(service.urls[0]!)
    const { path, scope, body } = request
    const token = { submit: service.accessToken, read: service.accessToken, admin: service.adminToken }[scope]
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.pause()
    const headers = { Host: hostname, ...headersOf(request, token), 'Content-Length': body?.length ?? 0 }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    socket.write(`${body ? 'POST' : 'GET'} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    if (body) socket.write(body)
    sockets.push(socket)
  }
  const dearest = async (): Promise<DearRequest[]> => {
    const priced = await Promise.all(
      fc
        .sample(dearRequests, seeded({ numRuns: TRIED }))
        .map(async (request) => ({ request, ...(await priceOfAnswer(request)) })),
    )
    return priced
      .toSorted((a, b) => b.perByte - a.perByte)
      .slice(0, KEPT)
      .map(({ request }) => request)
  }
  const batchText = (bodyOf: (at: number) => object): string => {
    const items = Array.from({ length: ITEMS }, (_, at) => ({ operation: 'create_feedback', body: bodyOf(at) }))
    return JSON.stringify({ items })
  }
  const batch = (title: string, text: string) => ({
    title,
    path: '/api/v1/batch',
    scope: 'submit' as const,
    body: gzipSync(text),
    plainBytes: Buffer.byteLength(text),
  })
  const zeros = batchText(() => ({ description: 'x', sourceData: { ['k'.repeat(200)]: Array(100).fill(0) } }))
  const numbersOutOfRange = batch('numbers', zeros.replaceAll(/\b0\b/g, '1e999'))
  const echoed = batch(
    'echo',
    batchText((at) => ({
      description: 'x'.repeat(2_000),
      sourceId: String(at),
      shouldUnflattenSourceData: true,
      sourceData: Object.fromEntries(Array.from({ length: 200 }, (_, key) => [`a.b.c.d.e.f.g.${key}`, 'x'.repeat(20)])),
    })),
  )
  const postBatch = ({ path, body }: ReturnType<typeof batch>) =>
    service.request(path, body, { headers: { 'Content-Encoding': 'gzip' } })

  it('gets at most 100 problems of its first item, and one problem of each other item', async () => {
    const { status, text, body } = await postBatch(numbersOutOfRange)
    assert.equal(status, 200)
    const problems = (body.results as { status: number; body: { error: unknown[] } }[]).map(
      ({ body: { error } }) => error,
    )
    assert.equal(problems.length, ITEMS)
    assert.equal(problems[0]!.length, MOST_PROBLEMS)
    assert.ok(problems.slice(1).every(({ length }) => length === 1))
    assert.ok(text.length < MB, `${text.length} bytes`)
  })

  it('takes little memory if its client reads nothing, and the API answers other clients meanwhile', async () => {
    // Warms up the process.
    await postBatch(echoed)
    const requests = [numbersOutOfRange, echoed, ...(await dearest())]
    for (const request of requests) {
      const atFirst = residentMb()
      let most = atFirst
      for (let client = 0; client < CLIENTS; client++) sendUnread(request)
      let longestMs = 0
      for (let look = 0; look < CLIENTS; look++) {
        const askedAt = performance.now()
        assert.equal((await fetch(`${service.urls[0]}/healthz`)).status, 200)
        longestMs = Math.max(longestMs, performance.now() - askedAt)
        most = Math.max(most, residentMb())
      }
      const inHand = async (): Promise<number> => {
        const { text } = await service.request('/metrics', undefined, { method: 'GET', token: service.adminToken })
        most = Math.max(most, residentMb())
        return Number(/^feedback_insights_bytes_in_hand (\d+)/m.exec(text)?.[1])
      }
      await inHand()
      for (const socket of sockets.splice(0)) socket.destroy()
      await until('no bytes are in hand', async () => (await inHand()) === 0)
      console.log(`${request.title}: ${(most - atFirst).toFixed(0)} MB, /healthz within ${longestMs.toFixed(0)} ms`)
      assert.ok(
        most - atFirst < MOST_GROWTH_MB,
        `${request.title}: grew from ${atFirst.toFixed(0)} to ${most.toFixed(0)} MB`,
      )
    }
  })
})
