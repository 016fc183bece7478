import assert from 'node:assert/strict'
import { type IncomingMessage, request } from 'node:http'
import { after, before, it } from 'node:test'
import { QUEUE_NAMES } from '../../contract/jobs.ts'
import { createWorkspace } from '../../db/workspaces/workspaces.ts'
import { LATELY_SECONDS, createProcessReports, startReporting } from '../../queue/jobs/process-reports.ts'
import { feedbackBody, inject } from '../support/inject.ts'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import {
  assertContrast,
  assertFits,
  keepPicture,
  LEAST_CONTRAST,
  type OpenedPage,
  openPage,
  startBrowser,
  whyNoBrowser,
} from '../support/browser.ts'
import { holdWork, resumeWork } from '../support/hold-work.ts'
import { serveHttp } from '../support/http-server.ts'
import { type Service, startService } from '../support/service.ts'
import { type ServiceProcess, startProcess } from '../support/service-process.ts'
import { until } from '../support/until.ts'
import { describeWhere } from '../support/where.ts'

describeWhere('the overview in Chromium', whyNoBrowser, () => {
  let service: Service
  let worker: ServiceProcess
  let browser: Browser
  before(async () => {
    service = await startService({ workers: 0 })
    worker = await startProcess('worker/main.ts', 'working', service.environment)
    browser = await startBrowser()
  })
  after(async () => {
    await browser?.close()
    await worker?.stop()
    await service?.stop()
  })

  /** Waits until an expression holds in the page. */
  const untilShown = (page: Page, what: string, expression: string): Promise<boolean> =>
    until(what, () => page.evaluate<boolean>(expression))
  const untilDrawn = (page: Page): Promise<boolean> => {
    const curve = `document.querySelector('[data-series=acceptedPerSecond]')?.getAttribute('d')`
    return untilShown(page, 'curves are drawn', `${curve}?.includes('L') === true`)
  }
  const workspacesShown = (page: Page): Promise<string[]> =>
    page.evaluate(
      `document.getElementById('workspaces-now')?.checkVisibility()
        ? [...document.querySelectorAll('#workspaces tr')].map((row) => [...row.cells].map((cell) => cell.innerText).join(' | '))
        : []`,
    )
  const open = async (url: string, options: BrowserContextOptions = {}, password = service.adminToken) => {
    const opened = await openPage(browser, { httpCredentials: { username: 'operator', password }, ...options })
    await opened.page.goto(url)
    return opened
  }
  const openOverview = (options?: BrowserContextOptions): Promise<OpenedPage> =>
    open(`${service.urls[0]}/admin`, options)

  const NARROW = { width: 360, height: 900 }

  for (const [colorScheme, form, viewport] of [
    ['light', 'wide', { width: 1_280, height: 900 }],
    ['dark', 'narrow', NARROW],
  ] as const) {
    it(`${colorScheme} and ${form}: draws its curves, fits, and can be read`, async () => {
      await using opened = await openOverview({ viewport, colorScheme })
      const { page, complaints, requested } = opened
      await service.submit('/feedbacks', { description: 'Drawn on the overview' })
      await untilDrawn(page)
      await untilShown(page, 'all is well', `document.getElementById('verdict').textContent === '✓ All is well'`)
      assert.equal(await page.evaluate(`document.querySelectorAll('figure svg[aria-label]').length`), 13)
      assert.equal(await page.evaluate(`document.querySelectorAll('#queues tr').length`), QUEUE_NAMES.length)
      await until('no workspace has a load', async () => (await workspacesShown(page)).length === 0)
      await assertFits(page)
      await assertContrast(page)
      const cut: number = await page.evaluate(
        `(() => { const { scrollWidth, clientWidth } = document.querySelector('.scroll:has(#queues)'); return scrollWidth - clientWidth })()`,
      )
      assert.ok(cut <= 1, `the queues are cut by ${cut} pixels`)
      assert.equal(
        await page.evaluate(`document.querySelector('#queues a').href`),
        `${service.urls[0]}/admin/queues/queue/${QUEUE_NAMES[0]}`,
      )
      const isDark: boolean = await page.evaluate(
        `getComputedStyle(document.body).backgroundColor === 'rgb(20, 23, 27)'`,
      )
      assert.equal(isDark, colorScheme === 'dark')
      await keepPicture(page, `overview-${colorScheme}-${form}`)
      assert.deepEqual(complaints, [])
      for (const url of requested) {
        assert.ok(url.startsWith('data:') || url.startsWith(service.urls[0]!), url)
      }
    })
  }

  it('the API reference can be dark, and shows refusals in short rows on a narrow page', async () => {
    await using opened = await open(`${service.urls[0]}/docs#/Submissions/createFeedback`, {
      viewport: NARROW,
      colorScheme: 'dark',
    })
    const { page, complaints } = opened
    const heights = await until('an operation is shown', async () => {
      const found: number[] = await page.evaluate(
        `[...document.querySelectorAll('.response:not([data-code^="2"])')].map((row) => row.offsetHeight)`,
      )
      return found.length > 5 && found
    })
    assert.ok(heights.reduce((sum, height) => sum + height) < 1_000, heights.join())
    const { contrast } = await page.evaluate<{ contrast: number }>(LEAST_CONTRAST)
    assert.ok(contrast > 3, `${contrast}`)
    assert.equal(await page.evaluate(`getComputedStyle(document.querySelector('.swagger-ui')).colorScheme`), 'dark')
    assert.deepEqual(complaints, [])
  })

  const showsAll = async (base: string, password: string): Promise<void> => {
    const expected = {
      '/admin': 'All is well',
      '/admin/queues': 'backlog',
      [`/admin/queues/queue/${QUEUE_NAMES[0]}`]: QUEUE_NAMES[0],
      '/docs': 'Create a feedback record',
    }
    for (const [path, text] of Object.entries(expected)) {
      await using opened = await open(`${base}${path}`, {}, password)
      const { page } = opened
      await untilShown(page, `content of ${path}`, `document.body?.innerText.includes(${JSON.stringify(text)})`)
      if (path !== '/admin/queues') continue
      const back: boolean = await page.evaluate(
        `[...document.querySelectorAll('a[href="../../admin"]')].some((link) => link.checkVisibility())`,
      )
      assert.ok(back)
    }
  }

  // The browser would answer a request for a password with a wrong one.
  it('works at an address that contains the token, as the dashboard and the reference do', () =>
    showsAll(service.urls[0]!.replace('//', `//op:${service.adminToken}@`), 'another'))

  it('works below a path of a proxy, as the dashboard and the reference do', async () => {
    const proxy = await serveHttp(({ method, headers, url = '' }, response, body) => {
      if (!url.startsWith('/below/')) return response.writeHead(404).end()
      const to = new URL(url.replace(/^\/below/, ''), service.urls[0])
      const pass = (answer: IncomingMessage) => answer.pipe(response.writeHead(answer.statusCode!, answer.headers))
      return request(to, { method, headers }, pass).end(body)
    })
    try {
      await showsAll(`${proxy.url}/below`, service.adminToken)
    } finally {
      proxy.stop()
    }
  })

  it('shows a dash as the limit in the memory curve of a Redis that has none', async () => {
    const unlimited = await serveHttp(async ({ url = '' }, response) => {
      const headers = { Authorization: `Bearer ${service.adminToken}` }
      const answer = await fetch(new URL(url, service.urls[0]), { headers })
      const text = (await answer.text()).replaceAll(/"redisMaxBytes":\d+/g, '"redisMaxBytes":0')
      response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') ?? '' }).end(text)
    })
    try {
      await using opened = await open(`${unlimited.url}/admin`)
      const { page } = opened
      await untilDrawn(page)
      const memory: string = await page.evaluate(
        `document.querySelector('figure:has([data-series=redisMaxBytes]) figcaption').innerText`,
      )
      assert.match(memory, /used [\d.]+ MiB\s+at most –/)
    } finally {
      unlimited.stop()
    }
  })

  it('has a name for each chart and each element that the keyboard reaches, and one main heading', async () => {
    await using opened = await openOverview()
    const { page } = opened
    await untilDrawn(page)
    const nameless: string[] = await page.evaluate(`[...document.querySelectorAll('a, button, [tabindex], svg')]
      .filter((e) => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.textContent.trim()))
      .map((e) => e.outerHTML)`)
    assert.deepEqual(nameless, [])
    assert.equal(await page.evaluate(`document.querySelectorAll('h1').length`), 1)
    assert.equal(await page.evaluate('document.documentElement.lang'), 'en')
  })

  it('shows the shares of the heaviest workspaces, and names the workspace that crowds others, on a narrow dark page', async () => {
    const { sql, redis, redisPrefix, queues } = service
    const named = async (name: string): Promise<string> => (await createWorkspace(sql, name))!.id
    const [heavy, long] = [await named('acme'), await named('A very long name '.repeat(5).trim())]
    const beside = await named('beside')
    const byWorkspace = { [heavy]: 0.62 * LATELY_SECONDS, [long]: 0.3 * LATELY_SECONDS }
    const reporting = startReporting(
      createProcessReports(redis, redisPrefix),
      { id: 'busy', kind: 'worker' },
      async () => ({
        applying: { total: LATELY_SECONDS, byWorkspace },
      }),
    )
    await holdWork(queues)
    try {
      for (const agoMs of [300_000, 30_000, 20_000]) {
        await inject({ ...service, workspaceId: heavy }, queues, { body: feedbackBody('waits'), agoMs })
      }
      await inject({ ...service, workspaceId: beside }, queues, { body: feedbackBody('waits too'), agoMs: 15_000 })
      await using opened = await openOverview({ viewport: NARROW, colorScheme: 'dark' })
      const { page } = opened
      const rows = await until('the workspaces are shown', async () => {
        const shown = await workspacesShown(page)
        return shown.length === 3 && shown
      })
      assert.match(rows[0]!, new RegExp(`^acme\\s${heavy} \\| 3 \\| [\\d.]+ min \\| 6\\d %$`))
      assert.match(rows[1]!, new RegExp(`^A very long name.*\\s${long} \\| 0 \\| – \\| \\d\\d %$`))
      assert.match(rows[2]!, new RegExp(`^beside\\s${beside} \\| 1 \\| [\\d.]+ s \\| –$`))
      const findings: string = await page.evaluate(`document.getElementById('findings').textContent`)
      assert.match(
        findings,
        /The workspace acme has most of the waiting submissions and takes most of the workers' time, while others wait/,
      )
      const hidden: number = await page.evaluate(
        `(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('#workspaces-now .scroll'))`,
      )
      assert.equal(hidden, 0, 'all columns are in view')
      await assertFits(page)
      await assertContrast(page)
      await keepPicture(page, 'overview-crowding')
    } finally {
      await resumeWork(queues)
      await reporting.stop()
    }
  })

  it('reports that the worker is gone and what to do, and shows new jobs without a reload', async () => {
    await worker.stop()
    await using opened = await openOverview()
    const { page } = opened
    await service.post('/feedbacks', { description: 'waits' })
    await untilShown(page, 'trouble', `/Trouble/.test(document.getElementById('verdict')?.textContent)`)
    assert.match(
      await page.evaluate(`document.getElementById('findings').textContent`),
      /No worker is running\..*npm run worker/,
    )
    await untilShown(page, 'waiting jobs', `Number(document.querySelector('#queues tr td')?.textContent) > 0`)
    await keepPicture(page, 'overview-trouble')
  })
})
