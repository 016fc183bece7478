import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import * as v from 'valibot'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

describe('metrics', () => {
  let service: Service
  before(async () => {
    service = await startService()
  })
  after(() => service?.stop())

  const ofApi = async (): Promise<string> =>
    (await service.request('/metrics', undefined, { method: 'GET', token: service.adminToken })).text
  const ofWorker = async (): Promise<string> => (await fetch(`${service.workerUrls[0]}/metrics`)).text()
  const inWorkspace = (state: string): string =>
    `feedback_insights_ledger{workspace="${service.workspaceId}",state="${state}"}`

  /** The value of a metric, its labels as they are written; undefined where there is none. */
  const valueOf = (text: string, metric: string): number | undefined => {
    const line = text.split('\n').find((one) => one.startsWith(`${metric} `))
    return line === undefined ? undefined : Number(line.slice(metric.length + 1))
  }

  it('submissions: accepted, and refused by reason', async () => {
    const accepted = 'feedback_insights_submissions_total{operation="identify_contact",result="accepted"}'
    const refused = 'feedback_insights_submissions_total{operation="identify_contact",result="invalid"}'
    const former = await ofApi()
    assert.equal(valueOf(former, accepted), undefined)
    await service.submit('/contacts/identify', { id: 'm-1' })
    await service.post('/contacts/identify', { id: 7 })
    const now = await ofApi()
    assert.equal(valueOf(now, accepted), 1)
    assert.equal(valueOf(now, refused), 1)
  })

  it('ledger: what a workspace accepted, applied and set aside, and a difference of nothing', async () => {
    const [applied, accepted] = [inWorkspace('applied'), inWorkspace('accepted')]
    const former = await ofApi()
    await service.submit('/feedbacks', { description: 'counted' })
    const now = await ofApi()
    for (const metric of [applied, accepted]) {
      assert.equal((valueOf(now, metric) ?? 0) - (valueOf(former, metric) ?? 0), 1, metric)
    }
    assert.equal(valueOf(now, inWorkspace('dead')), 0)
    await until('the ledger adds up', async () => {
      const difference = `feedback_insights_ledger_difference{workspace="${service.workspaceId}"}`
      return valueOf(await ofApi(), difference) === 0
    })
  })

  it('requests: how long each took until it was answered, by route and status', async () => {
    const counted = 'feedback_insights_request_seconds_count{method="POST",route="/api/v1/feedbacks",status="400"}'
    const former = valueOf(await ofApi(), counted) ?? 0
    assert.equal((await service.post('/feedbacks', {})).status, 400)
    assert.equal((valueOf(await ofApi(), counted) ?? 0) - former, 1)
  })

  it('a queue: its jobs by state, and the age of the oldest', async () => {
    const waiting = 'feedback_insights_queue_jobs{queue="wake",state="waiting"}'
    const oldest = 'feedback_insights_queue_oldest_seconds{queue="wake"}'
    const paused = await startService({ workers: 0 })
    try {
      const metrics = async (): Promise<string> =>
        (await paused.request('/metrics', undefined, { method: 'GET', token: paused.adminToken })).text
      const empty = await metrics()
      assert.equal(valueOf(empty, waiting), 0)
      assert.equal(valueOf(empty, oldest), 0)
      assert.equal(valueOf(empty, 'feedback_insights_queue_oldest_seconds{queue="removal"}'), 0)
      assert.equal((await paused.post('/feedbacks', { description: 'first' })).status, 201)
      const age = await until('a worker is woken', async () => valueOf(await metrics(), oldest))
      await paused.post('/feedbacks', { description: 'second' })
      const now = await until('a worker is woken for each, by a job each', async () => {
        const text = await metrics()
        return valueOf(text, waiting) === 2 && text
      })
      assert.ok((valueOf(now, oldest) ?? 0) > age, 'of the oldest, not of the newest')
      assert.equal(valueOf(now, 'feedback_insights_processes{kind="worker"}'), 0)
    } finally {
      await paused.stop()
    }
  })

  it('applying: how long strides took, of a workspace and of all others', async () => {
    const seconds = (id: string): string => `feedback_insights_applying_seconds_total{workspace="${id}"}`
    assert.ok(valueOf(await ofWorker(), seconds('others')) !== undefined)
    // The row can be seen a moment before the worker hears that its statement has ended.
    const counted = async (from: number): Promise<number> => {
      await service.submit('/feedbacks', { description: 'its stride takes a moment' })
      return until('its time is counted', async () => {
        const now = valueOf(await ofWorker(), seconds(service.workspaceId)) ?? 0
        return now > from && now
      })
    }
    const first = await counted(0)
    assert.ok(first < 60, `${first}`)
    assert.ok((await counted(first)) < 60)
  })

  it('processes: those that report', async () => {
    for (const kind of ['api', 'worker']) {
      await until(`an ${kind} has reported`, async () => {
        return valueOf(await ofApi(), `feedback_insights_processes{kind="${kind}"}`) === 1
      })
    }
  })

  it('servers: reached, the memory of Redis, and how long Postgres takes', async () => {
    const text = await ofApi()
    for (const server of ['redis', 'postgres']) {
      assert.equal(valueOf(text, `feedback_insights_up{server="${server}"}`), 1)
    }
    assert.ok((valueOf(text, 'feedback_insights_redis_memory_used_bytes') ?? 0) > 100_000)
    assert.ok((valueOf(text, 'feedback_insights_redis_memory_max_bytes') ?? -1) >= 0)
    for (const metrics of [text, await ofWorker()]) {
      const seconds = valueOf(metrics, 'feedback_insights_postgres_answer_seconds')
      assert.ok(seconds !== undefined && seconds > 0 && seconds < 5, String(seconds))
    }
  })

  it('bodies: how many bytes are in hand, and may be', async () => {
    const text = await ofApi()
    assert.equal(valueOf(text, 'feedback_insights_bytes_in_hand'), 0)
    assert.equal(valueOf(text, 'feedback_insights_bytes_in_hand_max'), 64 * 1024 * 1024)
  })

  it('event loop: how late timers ran, in the API and in a worker', async () => {
    for (const scrape of [ofApi, ofWorker]) {
      const median = 'feedback_insights_event_loop_delay_seconds{quantile="0.5"}'
      const text = await until('some timers ran', async () => {
        const metrics = await scrape()
        return (valueOf(metrics, median) ?? 0) > 0 && metrics
      })
      const quantiles = ['0.5', '0.99', '1'].map(
        (quantile) => valueOf(text, `feedback_insights_event_loop_delay_seconds{quantile="${quantile}"}`) ?? -1,
      )
      assert.deepEqual(
        quantiles,
        quantiles.toSorted((a, b) => a - b),
      )
    }
  })

  it('workers: what became of submissions, attempts, time to storage, and tagged texts', async () => {
    const settled = 'feedback_insights_settled_total{operation="identify_account",outcome="applied"}'
    const attempts = 'feedback_insights_settled_attempts_bucket{le="1",operation="create_feedback"}'
    const storage = (part: string): string => `feedback_insights_storage_seconds_${part}{operation="create_feedback"}`
    const atAll = 'feedback_insights_storage_seconds_bucket{le="+Inf",operation="create_feedback"}'
    const tagged = 'feedback_insights_tagged_texts_total'
    const former = await ofWorker()
    const grown = (now: string, metric: string): number => (valueOf(now, metric) ?? 0) - (valueOf(former, metric) ?? 0)
    assert.equal(valueOf(former, settled), undefined)
    await service.submit('/accounts/identify', { id: 'm-2' })
    await service.submit('/feedbacks', { description: 'The invoice export is slow on large accounts' })
    const now = await until('the worker is done with both', async () => {
      const text = await ofWorker()
      return grown(text, settled) === 1 && grown(text, attempts) === 1 && grown(text, tagged) > 0 && text
    })
    assert.equal(grown(now, storage('count')), 1)
    assert.equal(grown(now, atAll), 1)
    const seconds = grown(now, storage('sum'))
    assert.ok(seconds > 0 && seconds < 20, String(seconds))
  })

  it('a dead submission is in the ledger and among what the worker is done with', async () => {
    const dead = inWorkspace('dead')
    // The table refuses this one row; nothing that can be submitted is refused by it otherwise.
    await service.sql`alter table feedback add constraint no_such check (description <> 'refused by the table')`
    await service.submit('/feedbacks', { description: 'refused by the table' })
    assert.equal(valueOf(await ofApi(), dead), 1)
    const settled = 'feedback_insights_settled_total{operation="create_feedback",outcome="dead"}'
    await until('the worker is done with it', async () => valueOf(await ofWorker(), settled) === 1)
  })

  it('attempts at jobs that failed', async () => {
    // Left where operators see it: nothing of ours queues such a job.
    const id = (await service.queues.removal.add('not ours', { version: 0 })).id!
    const failures = 'feedback_insights_job_failures_total{queue="removal"}'
    await until('it is counted', async () => valueOf(await ofWorker(), failures) === 1)
    await service.queues.removal.remove(id)
  })

  it('purges under way, and the keys that purges have ended', async () => {
    const former = await ofApi()
    assert.equal(valueOf(former, 'feedback_insights_purged_keys'), 0)
    assert.equal(valueOf(former, 'feedback_insights_purges_under_way'), 0)
    await service.submit('/contacts/identify', { id: 'm-3', properties: { $email: 'm3@example.com' } })
    await service.submit('/contacts/purge', { id: 'm-3' }, { token: service.adminToken })
    const now = await ofApi()
    assert.ok((valueOf(now, 'feedback_insights_purged_keys') ?? 0) > 0)
    assert.equal(valueOf(now, 'feedback_insights_purges_under_way'), 0)
    const waiting = { workspace_id: service.workspaceId, id: crypto.randomUUID(), number: 1 }
    await service.sql`
      insert into purge (workspace_id, id, number, contact_ids, subject_ids, keys, contacts)
      values (${waiting.workspace_id}, ${waiting.id}, ${waiting.number}, '{}', '{}', '{}', 0)`
    assert.equal(valueOf(await ofApi(), 'feedback_insights_purges_under_way'), 1)
    await service.sql`delete from purge where id = ${waiting.id}`
  })

  /** The names in a text, those of the parts of a histogram as the name of the whole. */
  const namesIn = (text: string): Set<string> =>
    new Set([...text.matchAll(/\bfeedback_insights_\w+/g)].map(([name]) => name.replace(/_(?:bucket|sum|count)$/, '')))
  const rendered = async (): Promise<Set<string>> =>
    new Set(
      [...`${await ofApi()}${await ofWorker()}`.matchAll(/^# TYPE (feedback_insights_\w+)/gm)].flatMap(([, name]) =>
        name ? [name] : [],
      ),
    )

  it('dashboard and alert rules use only what exists, and labels that exist', async () => {
    const exists = await rendered()
    for (const file of ['api/operators/grafana-dashboard.json', 'api/operators/alert-rules.yaml']) {
      const used = namesIn(read(file))
      assert.ok(used.size > 5, file)
      assert.deepEqual([...used.difference(exists)], [], file)
    }
  })

  it('every metric is on the dashboard and in docs/operate.md, which names no other', async () => {
    const exists = await rendered()
    assert.deepEqual([...exists.difference(namesIn(read('api/operators/grafana-dashboard.json')))], [])
    const documented = namesIn(read('docs/operate.md'))
    assert.deepEqual([...exists.symmetricDifference(documented)], [])
  })

  it('every selector of the dashboard and the rules finds something', async () => {
    const text = `${await ofApi()}${await ofWorker()}`
    const lines = text.split('\n').filter((line) => !line.startsWith('#'))
    const files = ['api/operators/grafana-dashboard.json', 'api/operators/alert-rules.yaml'].map(read).join('\n')
    const selectors = [...files.replaceAll('\\"', '"').matchAll(/(feedback_insights_\w+)\{([^}]*)\}/g)]
    assert.ok(selectors.length > 3)
    for (const [selector, name, matchers = ''] of selectors) {
      // Of results only those that there were have a line.
      const labels = matchers.split(',').map((label) => (label.startsWith('result=') ? 'result=' : label))
      const fits = (line: string, label: string): boolean =>
        label.includes('!=') ? !line.includes(label.replace('!=', '=')) : line.includes(label)
      const found = lines.some((line) => line.startsWith(`${name}{`) && labels.every((label) => fits(line, label)))
      assert.ok(found, selector)
    }
  })
})

const dashboard = v.object({
  title: v.string(),
  panels: v.array(
    v.object({
      title: v.pipe(v.string(), v.nonEmpty()),
      type: v.string(),
      description: v.pipe(v.string(), v.nonEmpty()),
      fieldConfig: v.object({ defaults: v.object({ unit: v.pipe(v.string(), v.nonEmpty()) }) }),
      gridPos: v.object({ h: v.number(), w: v.number(), x: v.number(), y: v.number() }),
      targets: v.pipe(v.array(v.object({ expr: v.string(), legendFormat: v.string() })), v.nonEmpty()),
    }),
  ),
})

describe('the dashboard for Grafana', () => {
  it('has a title, a unit and a text for every panel, and no two in one place', () => {
    const { panels } = v.parse(dashboard, JSON.parse(read('api/operators/grafana-dashboard.json')))
    assert.ok(panels.length >= 10)
    assert.equal(new Set(panels.map(({ title }) => title)).size, panels.length)
    const taken = panels.flatMap(({ gridPos: { h, w, x, y } }) =>
      Array.from({ length: h * w }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
    )
    assert.equal(new Set(taken).size, taken.length)
  })
})
