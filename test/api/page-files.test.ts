import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { appWithoutStores } from '../support/app-without-stores.ts'

const MOST = 100
const BUNDLE = '/docs/swagger-ui-bundle.js'

describe('a large file that anybody may load', () => {
  it(`is on its way to at most ${MOST} clients, and others load small files and other paths meanwhile`, async () => {
    const app = appWithoutStores()
    const load = (path: string, method = 'GET') => app.handle(new Request(`http://x${path}`, { method }))
    for (let at = 0; at <= MOST; at++) assert.equal((await load(BUNDLE, 'HEAD')).status, 200, 'HEAD takes no place')
    const unread = await Promise.all(Array.from({ length: MOST }, () => load(BUNDLE)))
    assert.ok(unread.every(({ status }) => status === 200))
    for (const path of [BUNDLE, '/openapi.json']) {
      const refused = await load(path)
      assert.equal(refused.status, 503)
      assert.equal(refused.headers.get('Retry-After'), '5')
    }
    for (const path of ['/docs', '/docs/page.css', '/healthz']) assert.equal((await load(path)).status, 200)
    const [read, ...others] = unread
    const bytes = (await read!.arrayBuffer()).byteLength
    assert.equal(String(bytes), read!.headers.get('Content-Length'))
    assert.equal((await load(BUNDLE)).status, 200)
    assert.equal((await load(BUNDLE)).status, 503)
    await others[0]!.body!.cancel()
    assert.equal((await load(BUNDLE)).status, 200)
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
