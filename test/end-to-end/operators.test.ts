import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { makeToken } from '../../contract/token-format.ts'
import { addToken } from '../../db/tokens.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import type { Answer, Service } from '../support/service.ts'
import { operatedService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

type BoardJob = { id: string; name: string; data: { workspaceIds: string[] }; returnValue: unknown }

const GUARDED = [
  '/metrics',
  '/admin',
  '/admin/overview.json',
  '/admin/overview.js',
  '/admin/overview.css',
  '/admin/queues',
  '/admin/queues/',
  '/admin/queues/api/queues',
  '/admin/queues/queue/wake',
]

describe('outside the base path', () => {
  let service: Service
  let operatorToken: string
  before(async () => {
    service = await operatedService()
    operatorToken = makeToken()
    await addToken(service.sql, { token: operatorToken, workspace: null, scopes: ['operator'], expiresAt: null })
  })
  after(() => service?.stop())

  const get = (path: string, authorization?: string): Promise<Answer> =>
    service.request(path, undefined, {
      method: 'GET',
      token: null,
      headers: { ...(authorization !== undefined && { Authorization: authorization }) },
    })
  const basic = (password: string, user = 'operator'): string =>
    `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

  for (const path of GUARDED) {
    it(`${path} is for operators, by bearer or as a password`, async () => {
      const allowed = [
        `Bearer ${operatorToken}`,
        `Bearer ${service.adminToken}`,
        basic(operatorToken),
        basic(operatorToken, ''),
      ]
      for (const authorization of allowed) assert.equal((await get(path, authorization)).status, 200, authorization)
    })

    it(`${path} answers 401 without an operator token`, async () => {
      const submitting = service.accessToken
      const refused = [
        undefined,
        'Bearer',
        `Bearer ${submitting}`,
        basic(submitting),
        basic(''),
        basic('x', operatorToken),
      ]
      for (const authorization of refused) {
        const answer = await get(path, authorization)
        assert.equal(answer.status, 401, authorization ?? 'no header')
        assert.equal(typeof answer.body.error, 'string')
        assert.match(answer.headers.get('www-authenticate') ?? '', /Basic/)
        assert.ok(answer.headers.get('x-request-id'))
      }
    })
  }

  it('the board shows the workspaces of a job, and no submitted content', async () => {
    const secret = 'sEcReT'
    const { workspaceId } = service
    await holdWork(service.queues)
    const description = `The export is slow, says ${secret}`
    const answer = await service.post('/feedbacks', { description, contact: { name: secret } })
    const bearer = `Bearer ${operatorToken}`
    const jobsIn = async (queue: string): Promise<BoardJob[]> => {
      const { text } = await get(`/admin/queues/api/queues?activeQueue=${queue}&status=latest`, bearer)
      assert.ok(!text.includes(secret))
      const { queues } = JSON.parse(text) as { queues: { name: string; jobs: BoardJob[] }[] }
      return queues.find(({ name }) => name === queue)!.jobs
    }
    const job = await until('a worker is woken', async () =>
      (await jobsIn('wake')).find(({ name }) => /^1 workspaces?, 1 submissions?$/.test(name)),
    )
    assert.deepEqual(job.data, { workspaceIds: [workspaceId] })
    const whole = await get(`/admin/queues/api/queues/wake/${job.id}`, bearer)
    assert.deepEqual([whole.status, whole.text.includes(workspaceId), whole.text.includes(secret)], [200, true, false])
    await resumeWork(service.queues)
    await service.settled(answer)
    await until('its text is read for tags', async () =>
      (await jobsIn('tagging')).some(({ returnValue }) => returnValue != null),
    )
  })

  it('the board has nothing that changes a queue', async () => {
    const pause = await service.request('/admin/queues/api/queues/wake/pause', '{}', {
      method: 'PUT',
      token: operatorToken,
    })
    assert.equal(pause.status, 405)
    assert.equal(pause.headers.get('allow'), 'GET, HEAD')
  })

  it('metrics are Prometheus text, and count accepted and refused submissions', async () => {
    await service.submit('/feedbacks', { description: 'x' })
    await service.post('/feedbacks', {})
    const { text, headers } = await get('/metrics', `Bearer ${operatorToken}`)
    assert.match(headers.get('content-type') ?? '', /^text\/plain/)
    assert.match(text, /^feedback_insights_submissions_total\{operation="create_feedback",result="accepted"\} [1-9]/m)
    assert.match(text, /^feedback_insights_submissions_total\{operation="create_feedback",result="invalid"\} [1-9]/m)
    for (const line of text.trim().split(/\n+/)) {
      assert.match(line, /^(?:# (?:HELP|TYPE) \w+ .+|\w+(?:\{[^{}]*\})? (?:-?[\d.e+-]+|NaN|Nan))$/)
    }
  })

  it('health, readiness and the description of the interface are open', async () => {
    const types = { '/healthz': 'application/json', '/readyz': 'application/json', '/openapi.json': 'application/json' }
    for (const [path, type] of Object.entries({ ...types, '/docs': 'text/html' })) {
      const { status, headers } = await get(path)
      assert.equal(status, 200, path)
      assert.ok(headers.get('content-type')?.startsWith(type), path)
    }
  })

  it('workers serve their health and their metrics, and nothing else', async () => {
    const ask = (path: string): Promise<Response> =>
      fetch(`${service.workerUrls[0]}${path}`, { headers: { Authorization: `Bearer ${operatorToken}` } })
    assert.equal((await ask('/healthz')).status, 200)
    assert.equal((await ask('/api/v1/feedbacks')).status, 404)
    const metrics = await ask('/metrics')
    assert.equal(metrics.status, 200)
    assert.match(metrics.headers.get('content-type') ?? '', /^text\/plain/)
  })

  it('answers are closed to other sites, never cached, and never taken for another type', async () => {
    const { headers } = await service.post(
      '/feedbacks',
      { description: 'x' },
      { headers: { Origin: 'https://example.com' } },
    )
    assert.equal(headers.get('access-control-allow-origin'), null)
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
  })
})
