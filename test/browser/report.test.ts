import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { periodOf, type Report, type Satisfaction } from '../../cli/report/report.ts'
import { reportPage } from '../../cli/report/report-page.ts'
import { type Browser, startBrowser, whyNoBrowser } from '../support/browser.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { until } from '../support/until.ts'
import { describeWhere } from '../support/where.ts'

const DRAWN_WITHIN_MS = 120_000
const WEEK_MS = 7 * 86_400_000
const WEEKS = 13

const rated = (satisfaction: number): Satisfaction => ({ rated: 12_345, satisfaction, bad: 1 - satisfaction })

/** Long words, markup and the most rows that a report can have. */
const full = (): Report => {
  const period = periodOf(
    new Date('2026-01-05T00:00:00Z'),
    new Date(Date.parse('2026-01-05T00:00:00Z') + WEEKS * WEEK_MS),
  )
  const text = `<img src=x onerror="document.title='struck'"> ${'Donaudampfschifffahrt'.repeat(8)}`
  const example = {
    tag: 'x',
    description: text,
    rating: 1,
    satisfaction: 0,
    at: period.since,
    contact: text,
    account: text,
  }
  const examples = [example, example, example]
  const twelve = Array.from({ length: 12 }, (_, at) => at)
  return {
    workspace: 'default',
    period,
    now: { feedback: 123_456, contacts: 9_000, accounts: 700, ...rated(0.52) },
    before: { feedback: 100_000, contacts: 8_000, accounts: 700, ...rated(0.65) },
    steps: Array.from({ length: WEEKS }, (_, at) => ({
      begin: new Date(period.since.getTime() + at * WEEK_MS),
      feedback: 900 + 100 * at,
      ...(at === 5 ? { rated: 0, satisfaction: null, bad: null } : rated((at % 5) / 4)),
    })),
    topics: twelve.map((at) => ({
      tag: `topic ${at} ${at === 3 ? text : ''}`,
      feedback: 9_000 - 500 * at,
      before: 500 * at,
      ...rated((at % 5) / 4),
      accounts: 500 - at,
      contractValue: 1_000_000 * at,
      steps: Array.from({ length: WEEKS }, (_step, week) => week * at),
      examples,
    })),
    news: twelve.slice(6).map(() => ({ tag: text, feedback: 40, weeklyBefore: 0.5, ...rated(0.05), examples })),
    accounts: twelve.map((at) => ({
      name: `Company ${at}`,
      contractValue: 500_000 - 40_000 * at,
      feedback: 40,
      ...rated(0.25),
      before: rated(0.75),
      tags: ['one', 'another', 'firmware update'],
    })),
    sources: twelve.map((at) => ({
      source: `source ${at}`,
      ratings: 100,
      least: 0,
      most: 10,
      ...rated(0.5),
      scale: at % 2 === 0 ? ([0, 10] as const) : null,
      isScaleGiven: false,
      link: null,
      csat: null,
      nps: 0.25,
    })),
    projects: twelve.map((at) => ({ project: `Project ${at}`, feedback: 100, ...rated(0.5) })),
  }
}

describeWhere('the report in Chromium', whyNoBrowser, () => {
  const file = join(temporaryDirectory(), 'report.html')
  let browser: Browser
  before(async () => {
    const style = readFileSync(new URL('../../cli/report/report.css', import.meta.url), 'utf8')
    writeFileSync(file, reportPage(full(), style, new Date()).html)
    browser = await startBrowser()
  })
  after(() => browser?.close())

  for (const [colors, form, width] of [
    ['light', 'wide', 1_000],
    ['dark', 'narrow', 360],
  ] as const) {
    it(`${colors} and ${form}: fits, can be read, loads no other files, and shows markup of customers as text`, async () => {
      const url = pathToFileURL(file).href
      const page = await browser.open(url, { width, colors })
      await until(
        'the report is drawn',
        () =>
          page.evaluate<boolean>(
            `document.readyState === 'complete' && document.querySelectorAll('svg.chart').length === 2`,
          ),
        DRAWN_WITHIN_MS,
      )
      await page.evaluate(`document.querySelectorAll('details').forEach((element) => { element.open = true })`)
      await page.assertReadable()
      assert.equal(await page.evaluate(`document.querySelectorAll('img, script, iframe').length`), 0)
      assert.match(await page.evaluate<string>('document.title'), /^What customers say/)
      const dark = await page.evaluate<boolean>(`getComputedStyle(document.body).backgroundColor === 'rgb(20, 23, 27)'`)
      assert.equal(dark, colors === 'dark')
      await page.keep(`report-${colors}-${form}`)
      assert.deepEqual([page.complaints, page.requested], [[], [url]])
    })
  }
})
