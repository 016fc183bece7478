import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { TOKEN_REMEMBERED_MS } from '../../contract/limits.ts'
import type { Answer, RequestOptions, Service } from './service.ts'

type Api = Pick<Service, 'request' | 'accessToken' | 'adminToken'>

const FEEDBACK = { description: 'probe', contact: { email: 'ada@example.com' }, project: { name: 'x' } }
const SUBMISSIONS: Readonly<Record<string, object>> = {
  '/api/v1/feedbacks': FEEDBACK,
  '/api/v1/contacts/identify': { id: 'x' },
  '/api/v1/accounts/identify': { id: 'x' },
  '/api/v1/conversations': { id: 'x', source: 'x', createdAt: '2026-01-01T00:00:00Z', contacts: [], messages: [] },
}

const get = ({ request, adminToken }: Api, path: string): Promise<Answer> =>
  request(path, undefined, { method: 'GET', token: adminToken })

/** The metrics of the API. */
export const readMetrics = async (api: Api): Promise<string> => (await get(api, '/metrics')).text

const assertRefused = async (what: string, answer: Promise<Answer>): Promise<void> => {
  const { status, headers, text } = await answer
  assert.equal(status, 503, `${what}: ${text}`)
  assert.ok(Number(headers.get('Retry-After')) > 0, `${what} has a time to retry`)
}

const assertAnswersInAnyOutage = async (api: Api): Promise<void> => {
  const { request, adminToken } = api
  const purge = request('/api/v1/contacts/purge', { id: 'stranger' }, { token: adminToken })
  await Promise.all([
    assertRefused('a purge', purge),
    assertRefused('a receipt', get(api, '/api/v1/submissions/01890000-0000-7000-8000-000000000000')),
  ])
  assert.equal((await get(api, '/readyz')).status, 503)
  assert.equal((await get(api, '/healthz')).status, 200)
}

/** While Postgres is away, the API accepts submissions. It refuses purges and unknown tokens. */
export const assertAnswersWithoutPostgres = async (api: Api): Promise<void> => {
  // After this pause, the API has to look up the tokens again.
  await pause(TOKEN_REMEMBERED_MS)
  for (const [path, body] of Object.entries(SUBMISSIONS)) {
    const { status, text } = await api.request(path, body)
    assert.ok(status === 200 || status === 201, `${path}: ${text}`)
  }
  const waited = await api.request('/api/v1/feedbacks', FEEDBACK, { headers: { Prefer: 'wait=1' } })
  assert.deepEqual([waited.status, waited.headers.get('Submission-State')], [201, 'queued'])
  await Promise.all([
    assertAnswersInAnyOutage(api),
    assertRefused('an unknown token', api.request('/api/v1/feedbacks', {}, { token: 'x'.repeat(30) })),
  ])
  const metrics = await readMetrics(api)
  assert.match(metrics, /^feedback_insights_up\{server="postgres"\} 0$/m)
  assert.match(metrics, /^feedback_insights_up\{server="redis"\} 1$/m)
}

/** While Redis is away, the API refuses submissions, purges and receipts with a time to retry. */
export const assertAnswersWithoutRedis = async (api: Api): Promise<void> => {
  const headers = { 'Idempotency-Key': 'x', Prefer: 'wait=1' }
  const submit = (path: string, body: object, options: RequestOptions = {}) =>
    assertRefused(path, api.request(path, body, options))
  await Promise.all([
    ...Object.entries(SUBMISSIONS).flatMap(([path, body]) => [submit(path, body), submit(path, body, { headers })]),
    assertAnswersInAnyOutage(api),
    readMetrics(api).then((text) => assert.match(text, /^feedback_insights_up\{server="redis"\} 0$/m)),
  ])
}
