import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import type { Overview } from '../../api/operators/overview/overview.ts'
import { feedbackBody, inject } from '../support/inject.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { idleService } from '../support/shared-service.ts'
import { until } from '../support/until.ts'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

let service: Service
before(async () => {
  // A separate service: work of other tests would change its counts, and the overview reports dead
  // submissions and failed jobs for minutes.
  service = await startService()
})
after(() => service?.stop())

describe('the overview', () => {
  const get = (path: string, token: string | null = service.adminToken): Promise<Answer> => service.get(path, { token })
  const overview = async (query = ''): Promise<Overview> => {
    const { body } = await get(`/admin/overview.json${query}`)
    return body as Overview
  }
  const untilSays = (what: string, says: (overview: Overview) => unknown): Promise<Overview> =>
    until(what, async () => {
      const now = await overview()
      return says(now) ? now : undefined
    })

  it('shows accepted, stored and tagged work, and says that all is well', async () => {
    await untilSays('both processes and rates are visible', ({ points }) => {
      const latest = points.at(-1)
      return latest?.apis === 1 && latest.workers === 1 && latest.acceptedPerSecond !== null
    })
    const begunAt = Date.now()
    await service.submit('/feedbacks', { description: 'The overview shows that this came in' })
    const { queues, points } = await untilSays('the work is visible', (now) =>
      (['acceptedPerSecond', 'storedPerSecond', 'taggedPerSecond', 'storageSeconds'] as const).every((key) =>
        now.points.some((point) => (point[key] ?? 0) > 0),
      ),
    )
    // A busy machine may give findings while the processes start.
    const { findings } = await untilSays('all is well', ({ verdict }) => verdict === 'well')
    assert.deepEqual(findings, [])
    assert.deepEqual(Object.keys(queues ?? {}).toSorted(), ['backlog', 'removal', 'tagging', 'wake', 'webhook'])
    const { at, ...latest } = points.at(-1)!
    assert.ok(at > begunAt && at <= Date.now(), `${at}`)
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
})

describe('metrics', () => {
  const scrape = async ({ get, adminToken }: Pick<Service, 'get' | 'adminToken'>): Promise<string> =>
    (await get('/metrics', { token: adminToken })).text
  const ofApi = (): Promise<string> => scrape(service)
  const ofWorker = async (): Promise<string> => (await fetch(`${service.workerUrls[0]}/metrics`)).text()

  /** The value of a metric. `metric` is its name, without `feedback_insights_`, and its labels. */
  const valueOf = (text: string, metric: string): number | undefined => {
    const line = text.split('\n').find((one) => one.startsWith(`feedback_insights_${metric} `))
    return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')))
  }
  /**
   * Runs `act`, and waits until each metric of `by` has grown by its number. Returns a function
   * that tells the growth of a metric.
   */
  const grow = async (
    text: () => Promise<string>,
    by: Readonly<Record<string, number>>,
    act: () => Promise<unknown>,
  ): Promise<(metric: string) => number> => {
    const former = await text()
    await act()
    return until(`${Object.keys(by).join(' and ')} have grown`, async () => {
      const now = await text()
      const grown = (metric: string): number => (valueOf(now, metric) ?? 0) - (valueOf(former, metric) ?? 0)
      return Object.entries(by).every(([metric, count]) => grown(metric) === count) && grown
    })
  }
  const inWorkspace = (state: string): string => `ledger{workspace="${service.workspaceId}",state="${state}"}`

  it('of a worker are at its own address, with its health and nothing else', async () => {
    const ask = (path: string): Promise<Response> => fetch(`${service.workerUrls[0]}${path}`)
    assert.equal((await ask('/healthz')).status, 200)
    assert.equal((await ask('/api/v1/feedbacks')).status, 404)
    const metrics = await ask('/metrics')
    assert.equal(metrics.status, 200)
    assert.match(metrics.headers.get('content-type') ?? '', /^text\/plain/)
  })

  it('of submissions, requests and the ledger count accepted, refused and applied submissions', async () => {
    const counted = {
      'submissions_total{operation="identify_contact",result="accepted"}': 1,
      'submissions_total{operation="identify_contact",result="invalid"}': 1,
      'request_seconds_count{method="POST",route="/api/v1/contacts/identify",status="400"}': 1,
      [inWorkspace('accepted')]: 1,
      [inWorkspace('applied')]: 1,
    }
    let seconds = 0
    const grown = await grow(ofApi, counted, async () => {
      await service.submit('/contacts/identify', { id: 'm-1' })
      const beganAt = performance.now()
      await service.post('/contacts/identify', { id: 7 })
      seconds = (performance.now() - beganAt) / 1_000
    })
    const measured = grown('request_seconds_sum{method="POST",route="/api/v1/contacts/identify",status="400"}')
    assert.ok(measured > 0 && measured <= seconds, `${measured} of ${seconds} s`)
    const difference = `ledger_difference{workspace="${service.workspaceId}"}`
    await until('the ledger adds up', async () => valueOf(await ofApi(), difference) === 0)
  })

  it('of a worker count submissions by outcome, attempts and time, and tagged texts', async () => {
    const ofFeedback = 'operation="create_feedback"'
    const counted = {
      'settled_total{operation="identify_account",outcome="applied"}': 1,
      [`settled_attempts_bucket{le="1",${ofFeedback}}`]: 1,
      [`storage_seconds_count{${ofFeedback}}`]: 1,
      [`storage_seconds_bucket{le="+Inf",${ofFeedback}}`]: 1,
      tagged_texts_total: 1,
    }
    const begunAt = performance.now()
    const grown = await grow(ofWorker, counted, async () => {
      await service.submit('/accounts/identify', { id: 'm-2' })
      await service.submit('/feedbacks', { description: 'The invoice export is slow on large accounts' })
    })
    const seconds = grown(`storage_seconds_sum{${ofFeedback}}`)
    assert.ok(seconds > 0 && seconds <= (performance.now() - begunAt) / 1_000, String(seconds))
    for (const workspace of [service.workspaceId, 'others'])
      assert.ok((valueOf(await ofWorker(), `applying_seconds_total{workspace="${workspace}"}`) ?? -1) >= 0, workspace)
    assert.ok(grown(`applying_seconds_total{workspace="${service.workspaceId}"}`) > 0)
  })

  it('of failures count dead submissions and failed jobs', async () => {
    const ended = {
      'settled_total{operation="create_feedback",outcome="dead"}': 1,
      'job_failures_total{queue="removal"}': 1,
    }
    let id = ''
    const fail = async (): Promise<void> => {
      await inject(service, service.queues, { body: feedbackBody('\u0000') })
      // No process of the service adds such a job: a worker refuses it.
      id = (await service.queues.removal.add('not ours', { version: 0 })).id!
    }
    await grow(ofApi, { [inWorkspace('dead')]: 1 }, () => grow(ofWorker, ended, fail))
    await service.sql`delete from dead_submission`
    await service.queues.removal.remove(id)
  })

  it('of purges count the purges under way, and the purged keys', async () => {
    await service.submit('/contacts/identify', { id: 'm-3', properties: { $email: 'm3@example.com' } })
    // The keys are the external id in its source, the external id in all sources, and the email.
    await grow(ofApi, { purged_keys: 3, purges_under_way: 0 }, () =>
      service.submit('/contacts/purge', { id: 'm-3' }, { token: service.adminToken }),
    )
    const id = crypto.randomUUID()
    await grow(
      ofApi,
      { purges_under_way: 1 },
      () => service.sql`
      insert into purge (workspace_id, id, number, contact_ids, subject_ids, keys, contacts)
      values (${service.workspaceId}, ${id}, 1, '{}', '{}', '{}', 0)`,
    )
    await service.sql`delete from purge where id = ${id}`
  })

  it('say whether servers and processes run, their memory, and their delays', async () => {
    const text = await until('both processes report', async () => {
      const now = await ofApi()
      return ['api', 'worker'].every((kind) => valueOf(now, `processes{kind="${kind}"}`) === 1) && now
    })
    for (const server of ['redis', 'postgres']) assert.equal(valueOf(text, `up{server="${server}"}`), 1)
    assert.ok((valueOf(text, 'redis_memory_used_bytes') ?? 0) > 100_000)
    assert.ok((valueOf(text, 'redis_memory_max_bytes') ?? -1) >= 0)
    assert.deepEqual([valueOf(text, 'bytes_in_hand'), valueOf(text, 'bytes_in_hand_max')], [0, 64 * 1024 * 1024])
    for (const scrapeOne of [ofApi, ofWorker]) {
      const delay = (metrics: string, quantile: string) =>
        valueOf(metrics, `event_loop_delay_seconds{quantile="${quantile}"}`)
      const now = await until('some timers ran', async () => {
        const metrics = await scrapeOne()
        return (delay(metrics, '0.5') ?? 0) > 0 && metrics
      })
      assert.ok((valueOf(now, 'postgres_answer_seconds') ?? 0) > 0)
      assert.ok(delay(now, '0.5')! <= delay(now, '0.99')! && delay(now, '0.99')! <= delay(now, '1')!)
    }
  })

  it('of a queue have its number of jobs, and the age of the oldest', async () => {
    const [waiting, oldest] = ['queue_jobs{queue="wake",state="waiting"}', 'queue_oldest_seconds{queue="wake"}']
    assert.deepEqual([valueOf(await ofApi(), waiting), valueOf(await ofApi(), oldest)], [0, 0])
    const idle = await idleService()
    const post = () => idle.post('/feedbacks', { description: 'waits' })
    await grow(() => scrape(idle), { [waiting]: 1 }, post)
    const age = valueOf(await scrape(idle), oldest) ?? 0
    await grow(() => scrape(idle), { [waiting]: 1 }, post)
    const text = await scrape(idle)
    assert.ok((valueOf(text, oldest) ?? 0) > age, 'the metric has the age of the oldest job, not of the newest')
    assert.equal(valueOf(text, 'processes{kind="worker"}'), 0)
    await idle.stop()
  })

  /** The names of the metrics in a text. A part of a histogram has the name of the histogram. */
  const namesIn = (text: string): Set<string> =>
    new Set([...text.matchAll(/\bfeedback_insights_\w+/g)].map(([name]) => name.replace(/_(?:bucket|sum|count)$/, '')))
  const DASHBOARD = 'api/operators/grafana-dashboard.json'
  const RULES = 'api/operators/alert-rules.yaml'

  it('are all on the dashboard and in docs/operate/watch.md; these and the alert rules name no other metrics', async () => {
    const types = `${await ofApi()}${await ofWorker()}`.matchAll(/^# TYPE (feedback_insights_\w+)/gm)
    const exists = new Set([...types].map(([, name]) => name!))
    assert.deepEqual([...exists.symmetricDifference(namesIn(read(DASHBOARD)))], [])
    assert.deepEqual([...exists.symmetricDifference(namesIn(read('docs/operate/watch.md')))], [])
    const inRules = namesIn(read(RULES))
    assert.ok(inRules.size > 5)
    assert.deepEqual([...inRules.difference(exists)], [])
  })

  it('have a series for each selector of the dashboard and the rules', async () => {
    const text = `${await ofApi()}${await ofWorker()}`
    const lines = text.split('\n').filter((line) => !line.startsWith('#'))
    const files = [DASHBOARD, RULES].map(read).join('\n')
    const selectors = [...files.replaceAll('\\"', '"').matchAll(/(feedback_insights_\w+)\{([^}]*)\}/g)]
    assert.ok(selectors.length > 3)
    for (const [selector, name, matchers = ''] of selectors) {
      // A result has a series only once it has occurred.
      const labels = matchers.split(',').map((label) => (label.startsWith('result=') ? 'result=' : label))
      const fits = (line: string, label: string): boolean =>
        label.includes('!=') ? !line.includes(label.replace('!=', '=')) : line.includes(label)
      const found = lines.some((line) => line.startsWith(`${name}{`) && labels.every((label) => fits(line, label)))
      assert.ok(found, selector)
    }
  })
})
