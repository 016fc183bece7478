import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { appWithoutStores } from '../../support/app-without-stores.ts'

describe('the API reference', () => {
  const app = appWithoutStores()
  const ask = (path: string, method = 'GET'): Promise<Response> =>
    app.handle(new Request(`http://localhost${path}`, { method }))
  const filesOf = (page: string): string[] =>
    [...page.matchAll(/\b(?:href|src)="([^"]+)"/g)].map(([, file = '']) => file)

  it('names only served files, each with its type, also behind a proxy that has the service below a path', async () => {
    const [files, others] = await Promise.all(
      ['/docs', '/docs/'].map(async (path) => {
        const named = filesOf(await (await ask(path)).text())
        return named.map((file) => new URL(file, `https://proxy.example/below${path}`).pathname.replace('/below', ''))
      }),
    )
    assert.deepEqual(files, others)
    assert.ok(files)
    const types: Record<string, RegExp> = {
      css: /^text\/css; charset=utf-8$/,
      js: /^text\/javascript; charset=utf-8$/,
      png: /^image\/png$/,
    }
    assert.equal(files.length, 6)
    for (const file of files) {
      const response = await ask(file)
      assert.equal(response.status, 200, file)
      assert.match(response.headers.get('content-type') ?? '', types[file.split('.').at(-1) ?? ''] ?? /^$/)
      assert.ok((await response.arrayBuffer()).byteLength > 20, file)
    }
  })

  it('shows the document that is served', async () => {
    const script = await (await ask('/docs/start.js')).text()
    const [, url = ''] =
      /url: location\.origin \+ new URL\("([^"]+)", document\.currentScript\.src\)/.exec(script) ?? []
    const { pathname } = new URL(url, 'https://proxy.example/below/docs/start.js')
    assert.equal(pathname, '/below/openapi.json')
    assert.equal((await ask('/openapi.json')).status, 200)
  })

  it('loads nothing from other hosts', async () => {
    const page = await (await ask('/docs')).text()
    for (const file of filesOf(page)) assert.match(file, /^docs\/[\w.-]+$/)
    const style = await (await ask('/docs/swagger-ui.css')).text()
    for (const [, target = ''] of style.matchAll(/url\(\s*["']?([^"')]{0,40})/g)) assert.match(target, /^data:/)
    assert.doesNotMatch(style, /@import/)
    assert.match(await (await ask('/docs/start.js')).text(), /validatorUrl: null/)
  })

  it('runs no inline scripts and no scripts of other hosts', async () => {
    for (const path of ['/docs', '/docs/start.js', '/docs/swagger-ui-bundle.js']) {
      const { headers } = await ask(path)
      const type = path === '/docs' ? 'text/html; charset=utf-8' : 'text/javascript; charset=utf-8'
      assert.equal(headers.get('content-type'), type)
      const policy = headers.get('content-security-policy') ?? ''
      assert.match(policy, /^default-src 'none';/)
      assert.match(policy, /script-src 'self';/)
      assert.match(policy, /frame-ancestors 'none'/)
      assert.doesNotMatch(policy, /unsafe|https?:|\*/)
    }
    const page = await (await ask('/docs')).text()
    assert.doesNotMatch(page, /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/)
  })

  const ABSENT = [
    '/package.json',
    '/swagger-ui-bundle.js.map',
    '/../package.json',
    '/%2e%2e/package.json',
    '//etc/passwd',
    '/..%2fpackage.json',
    '/%',
    'x',
    '/swagger-ui.css%00',
    '/swagger-ui.css/',
    '/Swagger-UI.css',
    '/__proto__',
  ]
  it('has nothing at other paths', async () => {
    for (const path of ABSENT) {
      const response = await ask(`/docs${path}`)
      assert.deepEqual(
        [response.status, await response.json()],
        [404, { error: 'There is nothing at this path.' }],
        path,
      )
    }
  })
})
