import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Overview } from '../../api/operators/overview/overview.ts'
import { beginDeletion } from '../../db/workspaces/delete-workspace.ts'
import { createWorkspace } from '../../db/workspaces/workspaces.ts'
import { LATELY_SECONDS, createProcessReports, startReporting } from '../../queue/jobs/process-reports.ts'
import { feedbackBody, inject } from '../support/below-the-ingress.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { idleService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const SAMPLED_WITHIN_MS = 30_000
const PATHS = ['/admin', '/admin/overview.json', '/admin/overview.js', '/admin/overview.css']

describe('the overview', () => {
  let service: Service
  before(async () => {
    // A separate service, since the overview reports dead and failed work for minutes.
    service = await startService()
  })
  after(() => service?.stop())

  const get = (path: string, token: string | null = service.adminToken): Promise<Answer> =>
    service.request(path, undefined, { method: 'GET', token })
  const overview = async (query = ''): Promise<Overview> => {
    const { body } = await get(`/admin/overview.json${query}`)
    return body as Overview
  }
  const untilSays = (what: string, says: (overview: Overview) => unknown): Promise<Overview> =>
    until(
      what,
      async () => {
        const now = await overview()
        return says(now) ? now : undefined
      },
      SAMPLED_WITHIN_MS,
    )

  it('is never cached, has the right types, and runs no script that is inline or from another host', async () => {
    const types = ['text/html', 'application/json', 'text/javascript', 'text/css']
    for (const [at, path] of PATHS.entries()) {
      const { status, headers, text } = await get(path)
      assert.equal(status, 200, path)
      assert.ok(headers.get('content-type')?.startsWith(types[at]!), path)
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      const policy = headers.get('content-security-policy') ?? ''
      assert.match(policy, /default-src 'none'/)
      assert.doesNotMatch(policy, /unsafe|https?:|\*/)
      assert.doesNotMatch(text, /(?:src|href|url)\s*[=(]\s*["']?(?:https?:)?\/\//)
    }
  })

  it('has no other pages below it', async () => {
    for (const path of ['/admin/overview.ts', '/admin/page.html', '/admin/..%2Fmain.ts', '/admin/constructor']) {
      assert.equal((await get(path)).status, 404, path)
    }
    const { status, headers } = await service.request('/admin', '{}', { token: service.adminToken })
    assert.equal(status, 405)
    assert.equal(headers.get('allow'), 'GET')
  })

  it('has no script and no style in the page itself, and names its language', async () => {
    const { text } = await get('/admin')
    assert.match(text, /<html lang="en">/)
    assert.doesNotMatch(text, /<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/)
    for (const link of ['admin/queues', 'docs', 'metrics']) assert.ok(text.includes(`href="${link}"`), link)
  })

  it('says that all is well, and shows accepted, stored and tagged work', async () => {
    await untilSays('both processes and rates are visible', ({ points }) => {
      const latest = points.at(-1)
      return latest?.apis === 1 && latest.workers === 1 && latest.acceptedPerSecond !== null
    })
    await service.submit('/feedbacks', { description: 'The overview shows that this came in' })
    const { queues, points } = await untilSays('the work is visible', (now) =>
      (['acceptedPerSecond', 'storedPerSecond', 'taggedPerSecond', 'storageSeconds'] as const).every((key) =>
        now.points.some((point) => (point[key] ?? 0) > 0),
      ),
    )
    // The machine of the tests may be too busy while the processes start.
    const { findings } = await untilSays('all is well', ({ verdict }) => verdict === 'well')
    assert.deepEqual(findings, [])
    assert.deepEqual(Object.keys(queues ?? {}).toSorted(), ['backlog', 'removal', 'tagging', 'wake', 'webhook'])
    const { at, ...latest } = points.at(-1)!
    assert.ok(Math.abs(at - Date.now()) < 60_000)
    for (const [name, value] of Object.entries(latest)) {
      if (name !== 'storageSeconds') assert.notEqual(value, null, name)
    }
  })

  it('gives only points after the requested time', async () => {
    const all = (await overview()).points
    const since = all.at(-2)!.at
    const later = (await overview(`?since=${since}`)).points
    assert.ok(later.length > 0 && later.length < all.length)
    assert.ok(later.every((point) => point.at > since))
    assert.ok((await overview('?since=x')).points.length >= all.length)
  })

  it('names a workspace that crowds others, with all shares, until that is over', async () => {
    const { sql, redis, redisPrefix, queues } = service
    await untilSays('no workspace has a share', ({ workspaces }) => workspaces?.length === 0)
    const heavy = (await createWorkspace(sql, 'heavy'))!
    const gone = (await createWorkspace(sql, 'gone'))!
    const beside = (await createWorkspace(sql, 'beside'))!
    await beginDeletion(sql, gone.id)
    const byWorkspace = { [heavy.id]: 0.5 * LATELY_SECONDS, [gone.id]: 0.3 * LATELY_SECONDS }
    const reporting = startReporting(
      createProcessReports(redis, redisPrefix),
      { id: 'busy', kind: 'worker' },
      async () => ({
        applying: { total: LATELY_SECONDS, byWorkspace },
      }),
    )
    await holdWork(queues)
    try {
      for (const agoMs of [30_000, 20_000]) {
        await inject({ ...service, workspaceId: heavy.id }, queues, { body: feedbackBody('waits'), agoMs })
      }
      await inject({ ...service, workspaceId: beside.id }, queues, { body: feedbackBody('waits too'), agoMs: 15_000 })
      const { findings, workspaces } = await untilSays(
        'a workspace crowds others',
        (now) => now.findings.length > 0 && now.workspaces?.[0]?.applyingShare,
      )
      const [finding] = findings
      assert.equal(finding?.what, 'The workspace heavy has most of the waiting submissions, while others wait.')
      assert.match(finding.remedy, /SUBMISSIONS_PER_MINUTE/)
      const [first, second, ...others] = workspaces!
      assert.deepEqual([first?.id, first?.name, first?.waiting], [heavy.id, 'heavy', 2])
      // The workspace of the test has also taken a little time.
      assert.ok(first!.applyingShare > 0.4 && first!.applyingShare <= 0.5, String(first!.applyingShare))
      assert.ok(first!.oldestSeconds >= 30)
      assert.deepEqual([second?.id, second?.name, second?.waiting], [beside.id, 'beside', 1])
      assert.deepEqual(others, [])
    } finally {
      await resumeWork(queues)
      await reporting.stop()
    }
    const { verdict } = await untilSays('no workspace has a share', ({ workspaces }) => workspaces?.length === 0)
    assert.equal(verdict, 'well')
  })

  it('says that no worker is running, and the remedy', async () => {
    const alone = await idleService()
    try {
      const found = await until(
        'the finding',
        async () => {
          const { body } = await alone.request('/admin/overview.json', undefined, {
            method: 'GET',
            token: alone.adminToken,
          })
          return (body as Overview).verdict === 'trouble' && (body as Overview).findings[0]
        },
        SAMPLED_WITHIN_MS,
      )
      assert.match(found.what, /^No worker is running/)
      assert.match(found.remedy, /npm run worker/)
    } finally {
      await alone.stop()
    }
  })
})
