import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, it } from 'node:test'
import { appWithoutStores, emptyReads } from '../support/app-without-stores.ts'

describe('the routes', () => {
  it('are found under any host name, even a short one', async () => {
    for (const host of ['x', 'api', 'localhost:3000', 'feedback.example.com']) {
      const response = await appWithoutStores().handle(new Request(`http://${host}/healthz`))
      assert.equal(response.status, 200, host)
    }
  })

  it('are not chosen by the header Host: a request with a malformed Host is refused', async () => {
    for (const host of ['x/healthz?', 'x#', 'x?y', 'a b', '[', 'x:99999', 'x:abc', 'user@x', '%', '<>', '\\', '']) {
      // The runtimes build the address from the header, unchecked.
      const request = new Proxy(new Request('http://x/nothing', { headers: { Host: host } }), {
        get: (target, key): unknown => (key === 'url' ? `http://${host}/nothing` : Reflect.get(target, key, target)),
      })
      const response = await appWithoutStores().handle(request)
      assert.equal(response.status, 400, host)
      assert.equal((await response.json()).error[0].path, 'Host')
    }
  })
})

describe('HEAD', () => {
  it('has the status and headers of GET, also for a single record, and no body', async () => {
    const id = '21e220a7-39de-8ea2-adec-1b9ebe43cbbd'
    const reads = { ...emptyReads, readRecord: async () => '{"id":"x"}' }
    for (const path of [
      `/api/v1/feedbacks/${id}`,
      '/api/v1/feedbacks',
      '/healthz',
      '/docs',
      '/openapi.json',
      '/nothing',
    ]) {
      const ask = (method: string) =>
        appWithoutStores({ reads }).handle(
          new Request(`http://x${path}`, { method, headers: { Authorization: 'Bearer read', 'X-Request-Id': 'x' } }),
        )
      const [got, headed] = [await ask('GET'), await ask('HEAD')]
      assert.equal(headed.status, got.status, path)
      assert.deepEqual([...headed.headers], [...got.headers], path)
      assert.equal(await headed.text(), '')
    }
  })
})

describe('the headers of every answer', () => {
  it('protect the answer; only a file of a page may be cached', async () => {
    const app = appWithoutStores({ board: async () => new Response('x'), overview: async () => new Response('x') })
    for (const path of ['/', '/nothing', '/healthz', '/docs', '/docs/start.js', '/admin', '/admin/queues']) {
      const request = new Request(`http://x${path}`, { headers: { Authorization: 'Bearer operator' } })
      const { headers } = await app.handle(request)
      assert.equal(headers.get('x-content-type-options'), 'nosniff', path)
      assert.equal(headers.get('referrer-policy'), 'no-referrer', path)
      assert.equal(headers.get('cache-control'), path.endsWith('.js') ? 'public, max-age=3600' : 'no-store', path)
    }
  })
})

describe('a bearer token', () => {
  const TOKEN = 'fbi_0aZ-._~+/=='

  /** The token that the service finds in a request with these `Authorization` headers. */
  const found = async (path: string, authorizations: readonly string[]): Promise<string | undefined> => {
    const tokens: (string | undefined)[] = []
    const app = appWithoutStores({
      intake: {
        authenticate: async (token) => {
          tokens.push(token as string | undefined)
          return { refused: 'unauthenticated' }
        },
      },
    })
    const headers = new Headers(authorizations.map((authorization) => ['Authorization', authorization]))
    const response = await app.handle(new Request(`http://x${path}`, { headers }))
    assert.equal(response.status, 401)
    assert.match(response.headers.get('WWW-Authenticate') ?? '', path.startsWith('/metrics') ? /^Basic / : /^Bearer$/)
    assert.equal(tokens.length, 1)
    return tokens[0]
  }

  const FORMS = ['Bearer T', 'bearer T', 'BEARER T', 'bEaReR    T', 'Bearer T  ', ' Bearer T\t']
  // A token from the environment may have any of these characters.
  const CHARACTERS = ['T,', ',T', '"T"', "'T", 'token=T', '!#$%&()*:;<>?@[]^{|}']
  const NONE = [
    ['BearerXT', 'BearerT', 'Bearer\tT', 'Bearer \tT', 'Bearer:T', 'Bearer=T', 'Bearer,T', 'Bearer/T', 'Bearer\xA0T'],
    ['Bearer', 'Bearer ', 'Bearer T T', 'Bearer T\tT', 'Bearer T, Bearer T', 'Bearer T ,', 'Bearer realm="x", T'],
    ['T', 'token T', 'Digest T', 'xBearer T', 'Bearers T', 'Basic T', 'Bearer Bearer T', 'Bearer Té', ''],
  ].flat()

  for (const path of ['/api/v1/submissions/x', '/metrics']) {
    it(`is found by ${path} after the scheme in any case, with any visible characters`, async () => {
      for (const given of FORMS) assert.equal(await found(path, [given.replace('T', TOKEN)]), TOKEN, given)
      for (const whole of CHARACTERS) {
        const token = whole.replace('T', TOKEN)
        assert.equal(await found(path, [`Bearer ${token}`]), token)
      }
    })

    it(`is not found by ${path} in any other form, in two headers or in the address`, async () => {
      for (const given of NONE) assert.equal(await found(path, [given.replaceAll('T', TOKEN)]), undefined, given)
      assert.equal(await found(path, [`Bearer ${TOKEN}`, `Bearer ${TOKEN}`]), undefined)
      assert.equal(await found(`${path}?access_token=${TOKEN}&bearer=${TOKEN}`, []), undefined)
    })
  }

  it('may be the password of Basic authentication, but only at a path for operators', async () => {
    const basic = `Basic ${Buffer.from(`operator:${TOKEN}`).toString('base64')}`
    assert.equal(await found('/metrics', [basic]), TOKEN)
    assert.equal(await found('/api/v1/submissions/x', [basic]), undefined)
  })
})

describe('the address of the service', () => {
  it('leads a browser to the reference, also below a path of a proxy, and answers other clients with a list of paths', async () => {
    const get = (path: string, headers = {}) => appWithoutStores().handle(new Request(`http://x${path}`, { headers }))
    const browser = await get('/', { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' })
    assert.deepEqual([browser.status, browser.headers.get('Location')], [302, 'docs'])
    const listed = (await (await get('/')).json()) as Record<string, string>
    assert.equal(listed['api'], '/api/v1')
    for (const name of ['reference', 'openapi', 'health', 'readiness'])
      assert.equal((await get(listed[name]!)).status, 200, name)
    const capabilities = [{ routes: [], address: { name: 'polls', path: '/polls' } }]
    const answer = await appWithoutStores({ capabilities }).handle(new Request('http://x/'))
    assert.equal(((await answer.json()) as Record<string, string>)['polls'], '/polls')
  })
})

describe('the id of a request', () => {
  const idOf = async (id?: string, path = '/api/v1/feedbacks'): Promise<string | null> => {
    const headers = new Headers(id === undefined ? {} : { 'X-Request-Id': id })
    const response = await appWithoutStores().handle(new Request(`http://x${path}`, { method: 'POST', headers }))
    return response.headers.get('X-Request-Id')
  }

  it('equals the id that the caller sent', async () => {
    for (const id of ['a', 'trace-1.2:3_4', '0194f0a0-0000-7000-8000-000000000000']) {
      assert.deepEqual([await idOf(id), await idOf(id, '/nope')], [id, id])
    }
  })

  it('is new if the caller sent no id or a malformed id', async () => {
    const ids = [await idOf(), await idOf('x'.repeat(1_000)), await idOf('a b'), await idOf('<script>')]
    for (const id of ids) assert.match(id ?? '', /^[\w-]{16,64}$/)
    assert.equal(new Set(ids).size, ids.length)
  })
})

it('the pressure counts the bytes of an accepted body, not its characters', async () => {
  const added: number[] = []
  const pressure = {
    current: () => undefined,
    bytesLeft: () => Infinity,
    added: (bytes: number) => void added.push(bytes),
  }
  const request = new Request('http://x/api/v1/accounts/identify', {
    method: 'POST',
    headers: { Authorization: 'Bearer submit', 'Content-Type': 'application/json' },
    body: JSON.stringify({ id: '好'.repeat(10) }),
  })
  assert.equal((await appWithoutStores({ intake: { pressure } }).handle(request)).status, 201)
  assert.deepEqual(added, [Buffer.byteLength(JSON.stringify({ id: '好'.repeat(10) }))])
})
