import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { appWithoutStores } from '../../support/app-without-stores.ts'

const PAGE = 'https://app.example.com'
const OTHER = 'https://app.example.com.evil.example'

const ask = (path: string, options: { method?: string; headers?: Record<string, string>; origins?: string[] }) => {
  const { method = 'POST', headers = {}, origins = [PAGE, 'http://localhost:5173'] } = options
  return appWithoutStores({ corsOrigins: origins }).handle(new Request(`http://localhost${path}`, { method, headers }))
}
const preflight = (path: string, origin: string, origins?: string[]): Promise<Response> =>
  ask(path, {
    method: 'OPTIONS',
    headers: { Origin: origin, 'Access-Control-Request-Method': 'POST' },
    ...(origins && { origins }),
  })
const allowedOrigin = ({ headers }: Response): string | null => headers.get('access-control-allow-origin')

describe('pages of another origin', () => {
  it('get no permission unless their origin is configured', async () => {
    const answers = [
      await preflight('/api/v1/feedbacks', PAGE, []),
      await preflight('/api/v1/feedbacks', OTHER),
      await preflight('/api/v1/feedbacks', 'null'),
      await ask('/api/v1/feedbacks', { headers: { Origin: OTHER } }),
      await ask('/api/v1/feedbacks', { headers: { Origin: PAGE }, origins: [] }),
    ]
    for (const answer of answers) assert.equal(allowedOrigin(answer), null)
    assert.deepEqual(
      answers.map(({ status }) => status),
      [405, 405, 405, 401, 401],
    )
  })

  it('learn from a preflight which headers they may send', async () => {
    const { status, headers } = await preflight('/api/v1/feedbacks', PAGE)
    assert.equal(status, 204)
    assert.equal(headers.get('access-control-allow-origin'), PAGE)
    assert.equal(headers.get('access-control-allow-methods'), 'GET, POST, PUT, PATCH, DELETE')
    assert.match(headers.get('access-control-allow-headers') ?? '', /Authorization.*Content-Type.*Idempotency-Key/)
    assert.equal(headers.get('access-control-allow-credentials'), null)
    assert.equal(headers.get('vary'), 'Origin')
    assert.ok(headers.get('x-request-id'))
  })

  it('may read the answer and its headers, even if the request is refused', async () => {
    const answer = await ask('/api/v1/feedbacks', { headers: { Origin: PAGE } })
    assert.equal(answer.status, 401)
    assert.equal(allowedOrigin(answer), PAGE)
    assert.match(answer.headers.get('access-control-expose-headers') ?? '', /Submission-Id.*Retry-After/)
  })

  it('may see nothing outside the base path', async () => {
    for (const path of ['/healthz', '/metrics', '/admin/queues', '/docs', '/openapi.json', '/api/v1']) {
      for (const method of ['GET', 'OPTIONS']) {
        const headers = { Origin: PAGE, 'Access-Control-Request-Method': 'GET' }
        assert.equal(allowedOrigin(await ask(path, { method, headers })), null, path)
      }
    }
  })

  it('do not get the answers to other pages from a cache', async () => {
    const answers = [await ask('/api/v1/feedbacks', {}), await ask('/api/v1/feedbacks', { headers: { Origin: OTHER } })]
    for (const { headers } of answers) assert.equal(headers.get('vary'), 'Origin')
  })

  it('get 405 for OPTIONS that is not a preflight', async () => {
    assert.equal((await ask('/api/v1/feedbacks', { method: 'OPTIONS', headers: { Origin: PAGE } })).status, 405)
  })
})
