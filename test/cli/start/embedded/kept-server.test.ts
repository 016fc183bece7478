import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { keepServer } from '../../../../cli/start/embedded/kept-server.ts'
import type { EmbeddedServer } from '../../../../cli/start/embedded/server.ts'

type Fake = { readonly server: EmbeddedServer; readonly die: () => void }

const fakeServer = (port: number, pid: number): Fake => {
  const { promise: exited, resolve } = Promise.withResolvers<number | null>()
  const end = (): void => resolve(null)
  return { server: { url: `fake://127.0.0.1:${port}`, port, pid, exited, stop: async () => end() }, die: end }
}

describe('a server that is kept', () => {
  it('is started again on its port when it ends, and again after a failed start, until it is stopped', async () => {
    const wanted: (number | undefined)[] = []
    const shown: string[] = []
    const fakes = [fakeServer(4711, 1), undefined, fakeServer(4711, 2)]
    const { promise: back, resolve: isBack } = Promise.withResolvers<void>()
    const kept = await keepServer({
      name: 'Fake',
      say: (line) => shown.push(line),
      start: async (port) => {
        const fake = fakes[wanted.push(port) - 1]
        if (fake === undefined) throw new Error('not yet')
        if (wanted.length === fakes.length) isBack()
        return fake.server
      },
    })
    fakes[0]?.die()
    await back
    await kept.stop()
    assert.equal(kept.pid(), 2)
    assert.deepEqual(wanted, [undefined, 4711, 4711])
    assert.deepEqual(shown, [
      'Fake has ended unexpectedly and is started again',
      'Fake cannot be started again: not yet',
    ])
  })
})
