import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { findFreePort, isPortFree, reserveNextPort, reservePort } from '../../../../cli/start/embedded/free-port.ts'

const HOST = '127.0.0.1'

describe('a reserved port', () => {
  it('is taken for others, until it is let go of', async () => {
    const reserved = await reserveNextPort(await findFreePort(), HOST)
    assert.equal(await isPortFree(reserved.port), false)
    assert.equal(await reservePort(reserved.port, HOST), undefined)
    await reserved.release()
    assert.equal(await isPortFree(reserved.port), true)
  })

  it('keeps nobody who connects meanwhile: a page that asks again and again would hold the start up', async () => {
    const reserved = await reserveNextPort(await findFreePort(), HOST)
    const socket = connect({ port: reserved.port, host: HOST })
    socket.on('error', () => {})
    const closed = once(socket, 'close')
    await once(socket, 'connect')
    await closed
    await reserved.release()
  })
})
