import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as soon } from 'node:timers/promises'
import { createOpenFiles } from '../../api/page-files.ts'
import { appWithoutStores } from '../support/app-without-stores.ts'

const MOST = 20
const BUNDLE = '/docs/swagger-ui-bundle.js'
const load = (app: ReturnType<typeof appWithoutStores>, path: string, method = 'GET') =>
  app.handle(new Request(`http://x${path}`, { method }))

describe('a large file for clients without a token', () => {
  it(`is on its way to at most ${MOST} clients, and others load small files and other paths meanwhile`, async () => {
    const app = appWithoutStores()
    for (let at = 0; at <= MOST; at++)
      assert.equal((await load(app, BUNDLE, 'HEAD')).status, 200, 'HEAD takes no place')
    const unread = await Promise.all(Array.from({ length: MOST }, () => load(app, BUNDLE)))
    assert.ok(unread.every(({ status }) => status === 200))
    const waiting = [BUNDLE, '/openapi.json'].map((path) => load(app, path))
    for (const path of ['/docs', '/docs/page.css', '/healthz']) assert.equal((await load(app, path)).status, 200)
    const isWaiting = Symbol('waiting')
    assert.equal(await Promise.race([...waiting, soon(isWaiting)]), isWaiting)
    const [read, gone] = unread
    assert.equal(String((await read!.arrayBuffer()).byteLength), read!.headers.get('Content-Length'))
    assert.equal((await waiting[0]!).status, 200)
    await gone!.body!.cancel()
    assert.equal((await waiting[1]!).status, 200)
  })

  it('is refused to a client that has waited for it in vain', async () => {
    const send = createOpenFiles(1)
    const file = new Uint8Array(100_000)
    for (let at = 0; at < MOST; at++) assert.equal((await send('x.js', file, {})).status, 200)
    const refused = await send('x.js', file, {})
    assert.deepEqual([refused.status, refused.headers.get('Retry-After')], [503, '5'])
  })

  it('costs an unread answer no copy of the file', async () => {
    const app = appWithoutStores()
    const first = await app.handle(new Request(`http://x${BUNDLE}`))
    const reader = first.body!.getReader()
    const { value } = await reader.read()
    assert.ok(value!.byteLength <= 64 * 1024)
    const other = await app.handle(new Request(`http://x${BUNDLE}`))
    const { value: shared } = await other.body!.getReader().read()
    assert.equal(shared!.buffer.byteLength, Number(first.headers.get('Content-Length')), 'a view of the whole file')
    await reader.cancel()
  })
})
