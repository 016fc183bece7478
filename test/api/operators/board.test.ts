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
const SECRET = 'Ada Lovelace cannot log in'
const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' }

type Job = {
  readonly id: string
  readonly data: unknown
  readonly returnValue: unknown
}

describe('the board', () => {
  const prefix = `test-board-${randomUUID()}`
  const name = 'feedback'
  const connection = new Redis(testServers().redisUrl, { maxRetriesPerRequest: null })
  const queue = new Queue(name, { connection, prefix })
  const readOnly = createBoard({ queues: [queue], basePath: BASE })
  const writable = createBoard({ queues: [queue], basePath: BASE, readOnly: false })

  before(async () => {
    await queue.add('waiting', { title: SECRET }, { jobId: 'waiting-1' })
    await queue.add('done', { title: SECRET }, { jobId: 'done-1', priority: 0, lifo: true })
    await queue.upsertJobScheduler('nightly', { every: 86_400_000, offset: 1 }, { data: { title: SECRET } })
    const worker = new Worker(name, null, { connection, prefix })
    const job = await worker.getNextJob('token', { block: false })
    await job?.moveToCompleted({ summary: SECRET }, 'token', false)
    await worker.close()
  })

  after(async () => {
    await queue.obliterate({ force: true })
    await queue.close()
    await connection.quit()
  })

  const get = (path: string, board = readOnly): Promise<Response> => board(new Request(`${ORIGIN}${BASE}${path}`))
  const put = (path: string, headers: Record<string, string>, board = writable): Promise<Response> =>
    board(new Request(`${ORIGIN}${BASE}${path}`, { method: 'PUT', headers }))

  describe('its page', () => {
    for (const path of ['', '/', '/queue/feedback', '/queue/feedback/waiting-1', '/job-schedulers']) {
      it(`is served at ${path || 'the base path'}`, async () => {
        const response = await get(path)
        assert.equal(response.status, 200)
        assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
        assert.match(await response.text(), /<base href="\/admin\/queues\/" \/>/)
      })
    }

    it('has no placeholder left and asks nothing of other hosts', async () => {
      const page = await (await get('/')).text()
      assert.doesNotMatch(page, /<%|%>/)
      assert.doesNotMatch(page, /(?:href|src)="(?:https?:)?\/\//)
      assert.match(page, /<title>Queues<\/title>/)
    })

    it('names only files that are served', async () => {
      const page = await (await get('/')).text()
      const files = [...page.matchAll(/(?:href|src)="(static\/[^"]+)"/g)].map(([, file = '']) => file)
      assert.ok(files.length >= 5)
      for (const file of files) assert.equal((await get(`/${file}`)).status, 200, file)
    })

    it('answers HEAD without a body', async () => {
      const response = await readOnly(new Request(`${ORIGIN}${BASE}/`, { method: 'HEAD' }))
      assert.equal(response.status, 200)
      assert.equal(await response.text(), '')
    })
  })

  describe('what is sent with every answer', () => {
    for (const path of ['/', '/api/queues', '/static/images/logo.svg', '/nothing']) {
      it(`protects ${path}`, async () => {
        const { headers } = await get(path)
        assert.equal(headers.get('x-content-type-options'), 'nosniff')
        assert.equal(headers.get('referrer-policy'), 'no-referrer')
        assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'.*frame-ancestors 'none'/)
      })
    }

    it('keeps pages and job lists out of caches, and lets hashed files stay in them', async () => {
      const script = /src="(static\/js\/main[^"]+)"/.exec(await (await get('/')).text())?.[1]
      assert.equal((await get('/')).headers.get('cache-control'), 'no-store')
      assert.equal((await get('/api/queues')).headers.get('cache-control'), 'no-store')
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

    for (const path of [
      '/static/../index.ejs',
      '/static/%2e%2e/index.ejs',
      '/static/..%2findex.ejs',
      '/static/..%5cindex.ejs',
      '/static//index.ejs',
      '/static/%00',
      '/static/',
      '/static',
      '/static/js',
      '/static/__proto__',
      '/static/../../../../../../etc/passwd',
      '/static/%2e%2e%2f%2e%2e%2f%2e%2e%2fpackage.json',
    ]) {
      it(`do not include ${path}`, async () => {
        // Built by hand, since the constructor of Request would resolve the dots before the board sees them.
        const request = new Proxy(new Request(`${ORIGIN}${BASE}/`), {
          get: (target, key): unknown => (key === 'url' ? `${ORIGIN}${BASE}${path}` : Reflect.get(target, key, target)),
        })
        const response = await readOnly(request)
        assert.equal(response.status, 404)
        assert.equal(typeof (await response.json()).error, 'string')
      })
    }
  })

  describe('what it shows', () => {
    it('lists queues and jobs without a payload', async () => {
      const response = await get(`/api/queues?activeQueue=${name}&status=latest`)
      assert.equal(response.status, 200)
      const text = await response.text()
      assert.ok(!text.includes(SECRET))
      const [listed] = JSON.parse(text).queues
      assert.equal(listed.name, name)
      assert.equal(listed.readOnlyMode, true)
      const jobs: Job[] = listed.jobs
      const done = jobs.find((job) => job.id === 'done-1')
      assert.deepEqual(done?.data, { hidden: 'payloads are not shown here' })
      assert.deepEqual(done?.returnValue, { hidden: 'payloads are not shown here' })
      assert.equal(jobs.find((job) => job.id === 'waiting-1')?.returnValue ?? null, null)
    })

    for (const path of ['waiting-1', 'done-1', 'done-1/flow', 'done-1/logs', 'default-job-options', 'workers']) {
      it(`shows ${path} without a payload`, async () => {
        const response = await get(`/api/queues/${name}/${path}`)
        assert.equal(response.status, 200)
        assert.ok(!(await response.text()).includes(SECRET))
      })
    }

    it('shows schedulers without the payload of their jobs', async () => {
      const text = await (await get('/api/job-schedulers')).text()
      assert.match(text, /nightly/)
      assert.ok(!text.includes(SECRET))
    })

    it('shows the state of Redis', async () => {
      const stats = await (await get('/api/redis/stats')).json()
      assert.equal(stats.backend, 'redis')
    })

    it('hides payloads on a writable board too', async () => {
      assert.ok(!(await (await get(`/api/queues/${name}/waiting-1`, writable)).text()).includes(SECRET))
    })
  })

  describe('who may change something', () => {
    const refused: Record<string, Record<string, string>> = {
      'a request that names no origin': {},
      'another site': { 'sec-fetch-site': 'cross-site', origin: ORIGIN },
      'another host of the same site': { 'sec-fetch-site': 'same-site' },
      'an address typed by a person': { 'sec-fetch-site': 'none' },
      'another origin': { origin: 'http://evil.example' },
      'another port': { origin: 'http://localhost:8080' },
      'a hidden origin': { origin: 'null' },
      'an origin that starts like this one': { origin: 'http://localhost.evil.example' },
    }
    for (const [who, headers] of Object.entries(refused)) {
      it(`refuses ${who}`, async () => {
        assert.equal((await put(`/api/queues/${name}/pause`, headers)).status, 403)
        assert.equal((await put(`/api/queues/${name}/pause`, headers, readOnly)).status, 403)
        assert.equal(await queue.isPaused(), false)
      })
    }

    it('refuses a form that another site posts', async () => {
      const headers = { 'content-type': 'text/plain', origin: 'http://evil.example' }
      const request = new Request(`${ORIGIN}${BASE}/api/queues/${name}/add`, { method: 'POST', headers, body: '{}' })
      assert.equal((await writable(request)).status, 403)
    })

    it('is nobody on a read-only board', async () => {
      for (const path of [`/api/queues/${name}/pause`, '/api/queues/pause', `/api/queues/${name}/waiting-1/clean`]) {
        const response = await put(path, SAME_ORIGIN, readOnly)
        assert.equal(response.status, 405)
        assert.equal(response.headers.get('allow'), 'GET, HEAD')
      }
      assert.equal(await queue.isPaused(), false)
    })

    it('is a page of this origin, told by Sec-Fetch-Site or by Origin', async () => {
      assert.equal((await put(`/api/queues/${name}/pause`, SAME_ORIGIN)).status, 200)
      assert.equal(await queue.isPaused(), true)
      // Where a proxy ends TLS, the page has the scheme that this process never sees.
      assert.equal((await put(`/api/queues/${name}/resume`, { origin: 'https://localhost' })).status, 200)
      assert.equal(await queue.isPaused(), false)
    })

    describe('behind a proxy', () => {
      const page = { origin: 'https://queues.example.com' }
      const forwarded = { 'x-forwarded-host': 'Queues.example.com, inner', 'x-forwarded-proto': 'https' }
      const trusting = createBoard({ queues: [queue], basePath: BASE, readOnly: false, trustProxy: true })
      const change = async (headers: Record<string, string>, board = trusting): Promise<number> =>
        (await put(`/api/queues/${name}/resume`, headers, board)).status

      it('is a page of the origin that a trusted proxy names', async () => {
        assert.equal(await change({ ...page, ...forwarded }), 200)
        assert.equal(await change({ origin: ORIGIN }), 200)
      })

      it('is nobody else', async () => {
        assert.equal(await change({ origin: 'http://queues.example.com', ...forwarded }), 403)
        assert.equal(await change({ origin: 'https://inner', ...forwarded }), 403)
        assert.equal(await change({ origin: ORIGIN, ...forwarded }), 403)
        assert.equal(await change({ ...page, ...forwarded, 'sec-fetch-site': 'cross-site' }), 403)
      })

      it('is not whom anybody names where no proxy is trusted', async () => {
        assert.equal(await change({ ...page, ...forwarded }, writable), 403)
      })
    })

    const losing = ['empty', 'obliterate', 'clean/wait', 'waiting-1/clean', 'job-schedulers/nightly/remove']
    for (const path of losing) {
      it(`is nobody where accepted work would be lost: ${path}`, async () => {
        assert.equal((await put(`/api/queues/${name}/${path}`, SAME_ORIGIN)).status, 403)
        assert.ok(await queue.getJob('waiting-1'))
        assert.ok(await queue.getJobScheduler('nightly'))
      })
    }

    it('is nobody where a payload would be written', async () => {
      const headers = { ...SAME_ORIGIN, 'content-type': 'application/json' }
      const body = JSON.stringify({ jobData: { title: 'other' }, name: 'x', data: {} })
      const address = `${ORIGIN}${BASE}/api/queues/${name}`
      const update = new Request(`${address}/waiting-1/update-data`, { method: 'PATCH', headers, body })
      assert.equal((await writable(update)).status, 403)
      assert.equal((await writable(new Request(`${address}/add`, { method: 'POST', headers, body }))).status, 403)
      assert.deepEqual((await queue.getJob('waiting-1'))?.data, { title: SECRET })
    })
  })

  describe('the body of a change', () => {
    const change = (body: string, type = 'application/json'): Promise<Response> =>
      writable(
        new Request(`${ORIGIN}${BASE}/api/queues/${name}/concurrency`, {
          method: 'PUT',
          headers: { ...SAME_ORIGIN, 'content-type': type },
          body,
        }),
      )

    it('reaches the operation', async () => {
      assert.equal((await change('{"concurrency": 7}')).status, 200)
      assert.equal(await queue.getGlobalConcurrency(), 7)
    })

    it('is refused when it is too large, no JSON, no object or of another type', async () => {
      assert.equal((await change(JSON.stringify({ concurrency: 1, pad: 'x'.repeat(70_000) }))).status, 413)
      assert.equal((await change('{"concurrency": ')).status, 400)
      assert.equal((await change('[1]')).status, 400)
      assert.equal((await change('{"concurrency": "many"}')).status, 400)
      assert.equal((await change('{"concurrency": 1}', 'text/plain')).status, 415)
      assert.equal(await queue.getGlobalConcurrency(), 7)
    })
  })

  describe('what goes wrong', () => {
    it('answers paths that do not exist with 404', async () => {
      for (const path of [
        '/nothing',
        '/api/nothing',
        '/api/queues/other/1',
        `/api/queues/${name}/none`,
        '//',
        '/queue/',
      ]) {
        const response = await get(path)
        assert.equal(response.status, 404, path)
        assert.equal(response.headers.get('content-type'), 'application/json')
      }
      const outside = await readOnly(new Request(`${ORIGIN}/admin/queues-of-others`))
      assert.equal(outside.status, 404)
    })

    it('answers wrong methods with 405 and the right ones', async () => {
      const read = await get(`/api/queues/${name}/pause/x`, writable)
      assert.equal(read.status, 404)
      const paused = await get('/api/queues/pause/', writable)
      assert.equal(paused.status, 404)
      const wrong = await get(`/api/queues/${name}/retry/failed`, writable)
      assert.equal(wrong.status, 405)
      assert.equal(wrong.headers.get('allow'), 'PUT')
    })

    it('answers malformed escapes with 400', async () => {
      assert.equal((await get('/api/queues/%E0%A4%A')).status, 404)
      assert.equal((await get(`/api/queues/${name}/%E0%A4%A`)).status, 400)
      assert.equal((await get('/api/queues?activeQueue=%25')).status, 400)
    })

    it('tells the caller of a fault, and the client nothing about it', async () => {
      const away = new Redis({ port: 1, lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null })
      away.on('error', () => undefined)
      const broken = new Queue(name, { connection: away, prefix, skipWaitingForReady: true })
      broken.on('error', () => undefined)
      const faults: unknown[] = []
      const board = createBoard({ queues: [broken], basePath: BASE, onFault: (error) => faults.push(error) })

      const response = await board(new Request(`${ORIGIN}${BASE}/api/queues`))

      assert.equal(response.status, 500)
      assert.deepEqual(await response.json(), { error: 'The queues cannot be shown at the moment' })
      assert.equal(faults.length, 1)
      away.disconnect()
    })
  })
})
