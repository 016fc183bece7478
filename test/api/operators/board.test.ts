import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { createBoard } from '../../../api/operators/board.ts'
import { testServers } from '../../support/servers.ts'

const ORIGIN = 'http://localhost'
const BASE = '/admin/queues'
const DATA = { workspaceIds: [randomUUID(), randomUUID()] }

type Job = {
  readonly id: string
  readonly data: unknown
  readonly returnValue: unknown
}

describe('the board', () => {
  const prefix = `test-board-${randomUUID()}`
  const name = 'submissions'
  const connection = new Redis(testServers().redisUrl, { maxRetriesPerRequest: null })
  const queue = new Queue(name, { connection, prefix })
  const faults: unknown[] = []
  const board = createBoard({
    queues: [queue],
    basePath: BASE,
    overviewPath: '/admin',
    onFault: (error) => faults.push(error),
  })

  before(async () => {
    await queue.add('waiting', DATA, { jobId: 'waiting-1' })
    await queue.add('done', DATA, { jobId: 'done-1', priority: 0, lifo: true })
    await queue.upsertJobScheduler('nightly', { every: 86_400_000, offset: 1 }, { data: DATA })
    const worker = new Worker(name, null, { connection, prefix })
    const job = await worker.getNextJob('token', { block: false })
    await job?.moveToCompleted('done', 'token', false)
    await worker.close()
  })

  after(async () => {
    await queue.obliterate({ force: true })
    await queue.close()
    await connection.quit()
  })

  const get = (path: string): Promise<Response> => board(new Request(`${ORIGIN}${BASE}${path}`))

  describe('its page', () => {
    it('is served at each path of its links', async () => {
      for (const path of ['', '/', '/queue/submissions', '/queue/submissions/waiting-1', '/job-schedulers']) {
        const address = `https://proxy.example/below${BASE}${path}`
        const response = await get(path)
        assert.equal(response.status, 200)
        assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
        const [, base = ''] = /<base href="([^"]+)" \/>/.exec(await response.text()) ?? []
        assert.equal(new URL(base, address).pathname, `/below${BASE}/`)
      }
    })

    it('is complete, links back to the overview, and names only served files', async () => {
      const page = await (await get('/')).text()
      assert.doesNotMatch(page, /<%|%>/)
      assert.doesNotMatch(page, /(?:href|src)="(?:https?:)?\/\//)
      assert.match(page, /<title>Queues<\/title>/)
      assert.match(page, /<a href="..\/..\/admin" [^>]*>← Overview<\/a>/)
      const files = [...page.matchAll(/(?:href|src)="((?![./])[^"]+)"/g)].map(([, file = '']) => file)
      assert.ok(files.length >= 5)
      for (const file of files) assert.equal((await get(`/${file}`)).status, 200, file)
    })

    it('answers HEAD without a body', async () => {
      const response = await board(new Request(`${ORIGIN}${BASE}/`, { method: 'HEAD' }))
      assert.equal(response.status, 200)
      assert.equal(await response.text(), '')
    })
  })

  describe('the headers of every answer', () => {
    it('protect the answer', async () => {
      for (const path of ['/', '/api/queues', '/static/images/logo.svg', '/nothing']) {
        const { headers } = await get(path)
        assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'.*frame-ancestors 'none'/)
      }
    })

    it('leave the lifetime of pages and job lists to the service, and keep hashed files in caches', async () => {
      const script = /src="(static\/js\/main[^"]+)"/.exec(await (await get('/')).text())?.[1]
      assert.equal((await get('/')).headers.get('cache-control'), null)
      assert.equal((await get('/api/queues')).headers.get('cache-control'), null)
      assert.match((await get(`/${script}`)).headers.get('cache-control') ?? '', /immutable/)
      assert.doesNotMatch((await get('/static/images/logo.svg')).headers.get('cache-control') ?? '', /immutable/)
    })
  })

  describe('its files', () => {
    it('are served byte for byte with their type', async () => {
      const folder = join(
        dirname(createRequire(import.meta.url).resolve('@bull-board/ui/package.json')),
        'dist',
        'static',
      )
      const types = { '.css': 'text/css', '.js': 'text/javascript', '.json': 'application/json', '.png': 'image/png' }
      for (const [extension, type] of Object.entries(types)) {
        const file = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find((each) => each.endsWith(extension))
        assert.ok(file, extension)
        const response = await get(`/static/${file}`)
        assert.equal(response.headers.get('content-type')?.split(';')[0], type)
        assert.deepEqual(Buffer.from(await response.arrayBuffer()), readFileSync(join(folder, file)))
      }
    })

    it('are only the files of their folder', async () => {
      const outside = [
        '/../index.ejs',
        '/%2e%2e/index.ejs',
        '/..%2findex.ejs',
        '//index.ejs',
        '/',
        '',
        '/js',
        '/__proto__',
      ]
      for (const path of outside) {
        // Built by hand, since the constructor of Request would resolve the dots.
        const url = `${ORIGIN}${BASE}/static${path}`
        const request = new Proxy(new Request(`${ORIGIN}${BASE}/`), {
          get: (target, key): unknown => (key === 'url' ? url : Reflect.get(target, key, target)),
        })
        const response = await board(request)
        assert.equal(response.status, 404, path)
        assert.equal(typeof (await response.json()).error, 'string')
      }
    })
  })

  describe('the content of the board', () => {
    it('lists queues and their jobs, with their data and results', async () => {
      const response = await get(`/api/queues?activeQueue=${name}&status=latest`)
      assert.equal(response.status, 200)
      const [listed] = (await response.json()).queues
      assert.equal(listed.name, name)
      assert.equal(listed.readOnlyMode, true)
      const jobs: Job[] = listed.jobs
      const done = jobs.find((job) => job.id === 'done-1')
      assert.deepEqual([done?.data, done?.returnValue], [DATA, 'done'])
      assert.equal(jobs.find((job) => job.id === 'waiting-1')?.returnValue ?? null, null)
    })

    it('shows a single job, schedulers and the state of Redis', async () => {
      for (const path of ['waiting-1', 'done-1', 'done-1/flow', 'done-1/logs', 'default-job-options', 'workers']) {
        assert.equal((await get(`/api/queues/${name}/${path}`)).status, 200, path)
      }
      const { job } = await (await get(`/api/queues/${name}/waiting-1`)).json()
      assert.deepEqual(job.data, DATA)
      assert.match(await (await get('/api/job-schedulers')).text(), /nightly/)
      const stats = await (await get('/api/redis/stats')).json()
      assert.equal(stats.backend, 'redis')
    })
  })

  it('refuses every request to change something, and changes nothing', async () => {
    // A request as a page of this origin sends it, with a body for the operation.
    const headers = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
    const body = JSON.stringify({ jobData: { workspaceIds: [] }, name: 'x', data: {}, concurrency: 7 })
    const changes = {
      PUT: ['/pause', '/concurrency', '/obliterate', '/waiting-1/clean', '/job-schedulers/nightly/remove', '/../pause'],
      PATCH: ['/waiting-1/update-data'],
      POST: ['/add', '/../../..'],
      DELETE: ['/waiting-1'],
      OPTIONS: ['/../../..'],
    }
    for (const [method, paths] of Object.entries(changes)) {
      for (const path of paths) {
        const url = `${ORIGIN}${BASE}/api/queues/${name}${path}`
        const response = await board(new Request(url, { method, headers, body }))
        assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, HEAD'], path)
        assert.deepEqual(Object.keys(await response.json()), ['error'])
      }
    }
    assert.deepEqual([await queue.isPaused(), await queue.getGlobalConcurrency()], [false, null])
    assert.ok(await queue.getJobScheduler('nightly'))
    assert.deepEqual((await queue.getJob('waiting-1'))?.data, DATA)
  })

  describe('a failed request', () => {
    it('gets 404 at a path that does not exist', async () => {
      for (const path of [
        '/nothing',
        '/api/nothing',
        '/api/queues/other/1',
        `/api/queues/${name}/none`,
        `/api/queues/${name}/pause`,
        '/api/queues/pause/',
        '//',
        '/queue/',
      ]) {
        const response = await get(path)
        assert.equal(response.status, 404, path)
        assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
      }
      const outside = await board(new Request(`${ORIGIN}/admin/queues-of-others`))
      assert.equal(outside.status, 404)
    })

    it('gets 400 for malformed escapes, or 404 if no page has its path', async () => {
      assert.equal((await get('/api/queues/%E0%A4%A')).status, 404)
      assert.equal((await get(`/api/queues/${name}/%E0%A4%A`)).status, 400)
      assert.equal((await get('/api/queues?activeQueue=%25')).status, 400)
    })

    it('reports a fault to the process, and no detail to the client', async () => {
      const away = new Redis({ port: 1, lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null })
      away.on('error', () => undefined)
      const broken = new Queue(name, { connection: away, prefix, skipWaitingForReady: true })
      broken.on('error', () => undefined)
      const brokenBoard = createBoard({
        queues: [broken],
        basePath: BASE,
        overviewPath: '/admin',
        onFault: (error) => faults.push(error),
      })
      assert.deepEqual(faults, [])

      const response = await brokenBoard(new Request(`${ORIGIN}${BASE}/api/queues`))

      assert.equal(response.status, 500)
      assert.deepEqual(await response.json(), {
        error: 'The queues cannot be shown at the moment. Check with npm run doctor whether Redis answers.',
      })
      assert.equal(faults.length, 1)
      away.disconnect()
    })
  })
})
