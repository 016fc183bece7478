import assert from 'node:assert/strict'
import { connect } from 'node:net'
import process from 'node:process'
import { after, before, describe, it } from 'node:test'
import { idleService, type SharedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

/** After about 12 s, says docs/operate.md; the rest is for a busy machine. */
const CUT_OFF_WITHIN_MS = 20_000
const REFUSED_WITHIN_MS = 40_000
const PIECE_EVERY_MS = 1_000

const ON_DENO = process.versions['deno'] !== undefined

describe('a client that is slow', () => {
  let service: SharedService
  before(async () => {
    service = await idleService()
  })
  after(() => service?.stop())

  /** Sends the beginning of a request, and then, unless it is silent, a byte each second. */
  const sendSlowly = (begins: string, { isSilent = false } = {}) => {
    const { hostname, port } = new URL(service.urls[0]!)
    let received = ''
    let isClosed = false
    const socket = connect(Number(port), hostname, () => socket.write(begins))
    const trickle = isSilent ? undefined : setInterval(() => socket.write('x'), PIECE_EVERY_MS)
    const stop = (): void => {
      isClosed = true
      clearInterval(trickle)
      socket.destroy()
    }
    socket.setEncoding('latin1').on('data', (text: string) => (received += text))
    socket.on('error', stop).on('end', stop).on('close', stop)
    return { received: () => received, isClosed: () => isClosed, stop }
  }

  // Deno has no such bound, says docs/operate.md: there a proxy has to have one.
  if (!ON_DENO) {
    it('with the head of a request is cut off', async () => {
      const clients = [
        sendSlowly('', { isSilent: true }),
        sendSlowly('POST /api/v1/feedbacks HTTP/1.1\r\nHost: x\r\n', { isSilent: true }),
        sendSlowly('POST /api/v1/feedbacks HTTP/1.1\r\nHost: x\r\nX-Slow: '),
      ]
      try {
        await until(
          'all are cut off',
          () => Promise.resolve(clients.every((client) => client.isClosed())),
          CUT_OFF_WITHIN_MS,
        )
      } finally {
        for (const client of clients) client.stop()
      }
      for (const client of clients) assert.doesNotMatch(client.received(), /^HTTP\/1\.1 [25]/)
    })
  }

  if (process.env['TEST_SIZE'] === 'long') {
    it('with the body of a request gets 408, and is cut off where the runtime does so', async () => {
      const client = sendSlowly(
        `POST /api/v1/feedbacks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.accessToken}\r\n` +
          'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"description": "',
      )
      try {
        await until('it has an answer', () => Promise.resolve(client.received().includes('}')), REFUSED_WITHIN_MS)
        assert.match(client.received(), /^HTTP\/1\.1 408 /)
        if (!ON_DENO) await until('it is cut off', () => Promise.resolve(client.isClosed()))
      } finally {
        client.stop()
      }
    })
  }
})
