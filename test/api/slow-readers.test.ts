import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const CLIENTS = 20
const ITEMS = 500
const MOST_GROWTH_MB = 300
const MOST_PROBLEMS = 100
const MB = 1024 * 1024

const batchOf = (bodyOf: (at: number) => object): string =>
  JSON.stringify({
    items: Array.from({ length: ITEMS }, (_, at) => ({ operation: 'create_feedback', body: bodyOf(at) })),
  })
/** Batches whose answers are large for their compressed bytes. */
const numbersOutOfRange = gzipSync(
  batchOf(() => ({ description: 'x', sourceData: { ['k'.repeat(200)]: Array(100).fill(0) } })).replaceAll(
    /\b0\b/g,
    '1e999',
  ),
)
const echoed = gzipSync(
  batchOf((at) => ({
    description: 'x'.repeat(2_000),
    sourceId: String(at),
    shouldUnflattenSourceData: true,
    sourceData: Object.fromEntries(Array.from({ length: 200 }, (_, key) => [`a.b.c.d.e.f.g.${key}`, 'x'.repeat(20)])),
  })),
)

describe('clients that send little and read nothing', { skip: process.platform !== 'linux' && 'needs /proc' }, () => {
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
  const postBatch = (body: Buffer) =>
    service.request('/api/v1/batch', body, { headers: { 'Content-Encoding': 'gzip' } })

  const sendUnread = (body: Buffer): void => {
    const { hostname, port } = new URL(service.urls[0]!)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.pause()
    socket.write(
      `POST /api/v1/batch HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${service.accessToken}\r\n` +
        `Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`,
    )
    socket.write(body)
    sockets.push(socket)
  }

  it('get an answer that tells at most as many problems as that of one submission, and one of each item', async () => {
    const { status, text, body } = await postBatch(numbersOutOfRange)
    assert.equal(status, 200)
    const told = (body.results as { status: number; body: { error: unknown[] } }[]).map(({ body: { error } }) => error)
    assert.equal(told.length, ITEMS)
    assert.equal(told[0]!.length, MOST_PROBLEMS)
    assert.ok(told.slice(1).every((problems) => problems.length === 1))
    assert.ok(text.length < MB, `${text.length} bytes`)
  })

  it('do not take the memory of the API, which answers others meanwhile', async () => {
    await postBatch(echoed)
    const atFirst = residentMb()
    let most = atFirst
    for (let client = 0; client < CLIENTS; client++) sendUnread(echoed)
    const inHand = async (): Promise<number> => {
      assert.equal((await fetch(`${service.urls[0]}/healthz`)).status, 200)
      const { text } = await service.request('/metrics', undefined, { method: 'GET', token: service.adminToken })
      most = Math.max(most, residentMb())
      return Number(/^feedback_insights_bytes_in_hand (\d+)/m.exec(text)?.[1])
    }
    for (let look = 0; look < CLIENTS; look++) await inHand()
    for (const socket of sockets) socket.destroy()
    await until('nothing is in hand', async () => (await inHand()) === 0)
    assert.ok(most - atFirst < MOST_GROWTH_MB, `grew from ${atFirst.toFixed(0)} to ${most.toFixed(0)} MB`)
  })
})
