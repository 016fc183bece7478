import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { findFreePort, isPortFree, reserveNextPort, reservePort } from '../../../../cli/start/embedded/free-port.ts'

const HOST = '127.0.0.1'

describe('a reserved port', () => {
  it('is taken for other programs until its release', async () => {
    const reserved = await reserveNextPort(await findFreePort(), HOST)
    assert.equal(await isPortFree(reserved.port), false)
    assert.equal(await reservePort(reserved.port, HOST), undefined)
    await reserved.release()
    assert.equal(await isPortFree(reserved.port), true)
  })

  it('closes connections at once: a page that keeps reconnecting would hold up the start', async () => {
    const reserved = await reserveNextPort(await findFreePort(), HOST)
    const socket = connect({ port: reserved.port, host: HOST })
    socket.on('error', () => {})
    const closed = once(socket, 'close')
    await once(socket, 'connect')
    await closed
    await reserved.release()
  })
})
