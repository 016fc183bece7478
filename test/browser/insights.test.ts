import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { assertFits, type OpenedPage, openPage, startBrowser, whyNoBrowser } from '../support/browser.ts'
import { outputOf } from '../support/command.ts'
import { type SharedService, sharedService } from '../support/shared-service.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { describeWhere } from '../support/where.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** Options of axe: https://github.com/dequelabs/axe-core/blob/develop/doc/API.md#options-parameter. */
type AxeRules = { runOnly?: readonly string[]; rules?: Readonly<Record<string, { enabled: boolean }>> }
const COLOR_RULES = ['color-contrast', 'link-in-text-block']
const TEXT = `<img src=x onerror="document.title='struck'"> ${'Donaudampfschifffahrt'.repeat(6)} ‮ مرحبا`
const DAY_MS = 86_400_000
const daysAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString()

describeWhere('/insights in Chromium', whyNoBrowser, () => {
  const directory = temporaryDirectory()
  let service: SharedService
  let browser: Browser
  let base: string
  /** The addresses of all kinds of pages. */
  let all: string[]
  before(async () => {
    service = await sharedService()
    base = `${service.urls[0]}/insights`
    const words = ['export', 'login', 'battery', 'price', TEXT]
    const items = Array.from({ length: 60 }, (_, at) => ({
      operation: 'create_feedback' as const,
      body: {
        description: `The ${words[at % 5]} is slow since yesterday, and my team of ${at} people waits`,
        rating: 1 + (at % 5),
        source: 'shop',
        tags: [words[at % 5]!.slice(0, 150)],
        createdAt: daysAgo(at),
        account: { name: `Company ${at % 9} ${at % 9 === 3 ? TEXT : ''}`, contractValue: 1_000 * (at % 9) },
        contact: { email: `p${at}@acme.example`, name: `Ada ${at}` },
        project: { name: 'Mobile' },
      },
    }))
    await service.submitAll(items)
    await service.submit('/conversations', {
      id: 'c',
      source: 'chat',
      title: TEXT,
      createdAt: daysAgo(2),
      contacts: [],
      messages: [{ id: 'm', incoming: true, content: TEXT, createdAt: daysAgo(2) }],
    })
    const [first] = await service.sql<{ id: string }[]>`select id from feedback order by created_at desc limit 1`
    await service.request(
      '/api/v1/themes',
      { name: 'Waiting', feedbackIds: [first!.id] },
      { token: service.adminToken, headers: { Prefer: 'wait=30' } },
    )
    browser = await startBrowser()
    await using opened = await open({})
    all = await addresses(opened.page)
  })
  after(async () => {
    await browser?.close()
    await service?.stop()
  })

  /** A page of a signed-in administrator, which notes errors such as those of its policy. */
  const open = async (options: BrowserContextOptions): Promise<OpenedPage> => {
    const opened = await openPage(browser, options)
    const { page } = opened
    await page.goto(`${base}/feedback`)
    await page.fill('input[name=token]', service.adminToken)
    await page.click('text=Sign in >> visible=true >> nth=-1')
    assert.match(page.url(), /\/insights\/feedback$/)
    return opened
  }

  const addresses = async (page: Page): Promise<string[]> => {
    const found = [
      '',
      '?createdFrom=2020-01-01',
      '/themes',
      '/accounts',
      '/sources',
      '/groups?by=month',
      '/feedback',
      '/conversations',
      '/find?name=a',
      '/settings',
      '/nothing',
    ].map((path) => base + path)
    for (const [path, kind] of [
      ['/themes', 'themes'],
      ['/accounts', 'accounts'],
      ['/feedback', 'feedback'],
      ['/feedback', 'customers'],
      ['/conversations', 'conversations'],
    ] as const) {
      await page.goto(base + path)
      const link = await page.locator(`main a[href*="insights/${kind}/"]`).first().getAttribute('href')
      found.push(new URL(link!, page.url()).href)
    }
    return found
  }

  const assertAccessible = async (page: Page, rules: AxeRules = {}): Promise<void> => {
    await page.evaluate(AXE)
    const faults = await page.evaluate<string[]>(
      `axe.run(${JSON.stringify(rules)}).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html.slice(0, 200)).join(' ')))`,
    )
    assert.deepEqual(faults, [], page.url())
  }

  // A look at contrasts takes longest. A phone has the colors of a desktop, and the dark differs in them alone.
  for (const [name, options, rules] of [
    ['a desktop', { viewport: { width: 1_280, height: 900 } }, {}],
    [
      'a phone',
      { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true },
      { rules: { 'color-contrast': { enabled: false } } },
    ],
    ['the dark', { viewport: { width: 1_280, height: 900 }, colorScheme: 'dark' }, { runOnly: COLOR_RULES }],
  ] as const)
    it(`on ${name}: axe finds nothing, nothing is wider than the page, and no text becomes markup`, async () => {
      await using opened = await open(options)
      const { page, complaints } = opened
      // The list pages share their parts, and axe takes seconds for each.
      const ofRecords = all.slice(-7)
      for (const address of name === 'the dark' ? ofRecords : all) {
        const answer = await page.goto(address)
        assert.ok((await answer!.body()).length < 100_000, address)
        await assertFits(page)
        assert.notEqual(await page.title(), 'struck')
        if (name === 'a desktop' || ofRecords.includes(address)) await assertAccessible(page, rules)
      }
      assert.deepEqual(
        // Of the page that asks for a token, and of a page that does not exist.
        complaints.filter((text) => !/401|404/.test(text)),
        [],
      )
    })

  it('in print: leaves out what a reader cannot use on paper', async () => {
    await using opened = await open({})
    const { page } = opened
    await page.goto(base)
    await page.emulateMedia({ media: 'print' })
    assert.equal(await page.locator('nav').isVisible(), false)
    assert.equal(await page.locator('.filters').isVisible(), false)
    assert.equal(await page.locator('main table').first().isVisible(), true)
    assert.ok((await page.pdf()).length > 10_000)
  })

  it('without scripts: filters, corrects, takes it back, and signs out', async () => {
    await using opened = await open({ javaScriptEnabled: false })
    const { page } = opened
    await page.fill('input[name=q]', 'battery')
    await page.locator('.filters button').click()
    assert.match(page.url(), /q=battery/)
    assert.match(await page.locator('#total').innerText(), /^12 feedback$/)
    await page.locator('main .texts a[href*="insights/feedback/"]').first().click()
    await page.selectOption('select[name=kind]', 'question')
    await page.click('text=Save the kind')
    assert.match(await page.locator('[role=status]').innerText(), /saved/)
    await page.click('text=Undo')
    assert.match(await page.locator('[role=status]').innerText(), /saved/)
    await page.click('text=Sign out')
    assert.equal(await page.locator('input[name=token]').count(), 1)
  })

  it('by keyboard: the first key leads to the content, and every control shows its focus', async () => {
    await using opened = await open({})
    const { page } = opened
    await page.goto(base)
    await page.keyboard.press('Tab')
    assert.equal(await page.locator(':focus').innerText(), 'To the content')
    await page.keyboard.press('Tab')
    const outline = await page.evaluate(`getComputedStyle(document.activeElement).outlineStyle`)
    assert.notEqual(outline, 'none')
  })

  it('as a file: the report has no script and loads nothing, and can be read on a phone and in print', async () => {
    const out = join(directory, 'report.html')
    await outputOf(service, 'cli/report-command.ts', '--out', out, '--workspace', service.workspace)
    await using opened = await openPage(browser, { viewport: { width: 360, height: 740 } })
    const { page, requested } = opened
    await page.goto(pathToFileURL(out).href)
    assert.deepEqual(requested, [pathToFileURL(out).href])
    await assertFits(page)
    assert.equal(await page.locator('main a, form, script').count(), 0)
    await assertAccessible(page)
    assert.ok((await page.pdf()).length > 10_000)
  })
})
