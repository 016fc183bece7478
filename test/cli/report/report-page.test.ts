import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { Parser } from 'htmlparser2'
import { columnChart, shareChart } from '../../../cli/report/charts.ts'
import { periodOf, type Report, type Satisfaction, type SourceRatings } from '../../../cli/report/report.ts'
import { reportPage } from '../../../cli/report/report-page.ts'
import { seeded } from '../../support/property-seed.ts'

const STYLE = readFileSync(new URL('../../../cli/report/report.css', import.meta.url), 'utf8')
const SINCE = new Date('2026-01-05T00:00:00Z')
const UNTIL = new Date('2026-03-30T00:00:00Z')
const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '</title></style><iframe src="javascript:alert(1)">',
  '<!--',
  ']]><svg onload=alert(1)>',
  '&lt;script&gt;',
  '${alert(1)}',
  '\u202egnp.exe',
  '{{constructor.constructor("alert(1)")()}}',
]

const UNRATED: Satisfaction = { rated: 0, satisfaction: null, bad: null }
const POOR: Satisfaction = { rated: 4, satisfaction: 0.375, bad: 0.5 }

const reportOf = (text: string): Report => {
  const examples = [
    { tag: text, description: text, rating: 1, satisfaction: 0, at: SINCE, contact: text, account: text },
  ]
  return {
    workspace: text,
    period: periodOf(SINCE, UNTIL),
    now: { feedback: 12, contacts: 3, accounts: 2, ...POOR },
    before: { feedback: 0, contacts: 0, accounts: 0, ...UNRATED },
    steps: [
      { begin: SINCE, feedback: 12, ...POOR },
      { begin: UNTIL, feedback: 0, ...UNRATED },
    ],
    topics: [
      { tag: text, feedback: 12, before: 0, ...UNRATED, accounts: 1, contractValue: null, steps: [12, 0], examples },
    ],
    news: [{ tag: text, feedback: 12, weeklyBefore: 0, ...POOR, examples }],
    accounts: [
      {
        name: text,
        contractValue: 12_000,
        feedback: 12,
        ...POOR,
        before: { rated: 2, satisfaction: 0.75, bad: 0 },
        tags: [text],
      },
    ],
    sources: [sourceOf({ source: text, scale: [1, 5], csat: 0.5, ...POOR })],
    projects: [{ project: text, feedback: 12, ...POOR }],
  }
}

const sourceOf = (given: Partial<SourceRatings>): SourceRatings => ({
  source: 'shop',
  ratings: 12,
  least: 1,
  most: 5,
  ...UNRATED,
  scale: null,
  isScaleGiven: false,
  csat: null,
  nps: null,
  ...given,
})

/** The elements of a page with the names of their attributes, and the text outside of the style. */
const parsed = (page: string): { elements: string[]; text: string } => {
  const elements: string[] = []
  let text = ''
  let isStyle = false
  const parser = new Parser({
    onopentag: (name, attributes) => {
      isStyle = name === 'style'
      elements.push([name, ...Object.keys(attributes)].join(' '))
    },
    ontext: (piece) => (text += isStyle ? '' : piece),
    onclosetag: (name) => (isStyle = isStyle && name !== 'style'),
    oncomment: () => assert.fail('a comment'),
  })
  parser.end(page)
  return { elements, text }
}
const pageOf = (text: string): string => reportPage(reportOf(text), STYLE, UNTIL).html
/** The page without the line breaks of the source. */
const inOneLine = (page: string): string => page.replaceAll(/\s+/g, ' ').replaceAll(/> | </g, (edge) => edge.trim())
const harmless = parsed(pageOf('harmless'))

describe('the page of a report', () => {
  it('shows any text as text', () => {
    const pieces = fc.constantFrom(...'<>&"\'/=! -'.split(''), ...HOSTILE, 'a')
    const texts = fc.array(pieces, { minLength: 1, maxLength: 20 }).map((all) => all.join(''))
    fc.assert(
      fc.property(texts, (hostile) => {
        const { elements, text } = parsed(pageOf(hostile))
        assert.deepEqual(elements, harmless.elements)
        assert.ok(text.includes(hostile))
      }),
      seeded({ numRuns: 200, examples: HOSTILE.map((text): [string] => [text]) }),
    )
  })

  it('loads no other files, and runs no scripts', () => {
    const page = pageOf('harmless')
    assert.match(page, /default-src 'none'; style-src 'unsafe-inline'; img-src data:/)
    assert.doesNotMatch(page, /<script|https?:|url\(|@import/)
  })

  it('has examples, charts with a text for each column, a mark at a satisfaction that fell, and full bars', () => {
    const page = inOneLine(pageOf('harmless'))
    assert.match(page, /<details><summary>Examples<\/summary>/)
    assert.match(page, /<title>week of 2026-01-05: 12 feedback, satisfaction 38 % \(4 rated, 50 % bad\)<\/title>/)
    assert.match(page, /<title>week of 2026-03-30: 0 feedback, satisfaction –<\/title>/)
    assert.match(page, /38 % \(4 rated, 50 % bad\) ↓/)
    assert.match(page, /<td>12<\/td><td>50 %<\/td><td>–<\/td>/)
    assert.match(page, /rated 1 \(0 %\)/)
    assert.match(page, /aria-label="Feedback over time: 12, 0"/)
    const widths = [...page.matchAll(/<rect width="([^"]+)" height="10"/g)].map(([, width]) => width)
    assert.deepEqual(new Set(widths), new Set(['100.0']), 'the largest value of a table has a full bar')
  })

  it('has an axis from 0 to 100 % for satisfaction', () => {
    const steps = [0.5, 0.75].map((share) => ({ begin: SINCE, feedback: 1, ...POOR, satisfaction: share }))
    const page = inOneLine(reportPage({ ...reportOf('x'), steps }, STYLE, UNTIL).html)
    const [, chart = ''] = page.split('aria-label="Satisfaction each week"')
    const labels = [...chart.matchAll(/text-anchor="end" ?>([^<]*)</g)].map(([, label]) => label)
    assert.deepEqual(labels, ['0 %', '50 %', '100 %'])
  })

  it('has a command for each source whose scale a person has to give', () => {
    const sources = [
      sourceOf({ source: 'known', scale: [0, 10], rated: 12, satisfaction: 0.5, bad: 0.25, nps: -0.25 }),
      sourceOf({ source: 'refused', isScaleGiven: true }),
      sourceOf({ source: 'percent', least: 5, most: 99.5 }),
      sourceOf({ source: `Ada's $(survey)` }),
    ]
    const page = parsed(inOneLine(reportPage({ ...reportOf('acme'), sources }, STYLE, UNTIL).html)).text
    assert.deepEqual(page.match(/npm run source[^]*?--workspace acme/g), [
      'npm run source -- set percent --scale LOW..HIGH --workspace acme',
      `npm run source -- set 'Ada'\\''s $(survey)' --scale LOW..HIGH --workspace acme`,
    ])
    assert.match(page, /percent, ?12 ratings from 5 to 99\.5/)
    assert.match(page, /known12–−2550 % \(12 rated, 25 % bad\)0 to 10/)
    assert.match(page, /refused12–––none/)
    const inDefault = reportPage({ ...reportOf('default'), sources }, STYLE, UNTIL).html
    assert.match(inDefault, /<code>npm run source -- set percent --scale LOW..HIGH<\/code>/)
  })

  it('is a page even without feedback', () => {
    const nothing = { feedback: 0, contacts: 0, accounts: 0, ...UNRATED }
    const empty = { steps: [], topics: [], news: [], accounts: [], sources: [], projects: [] }
    const page = reportPage({ ...reportOf('x'), ...empty, now: nothing, before: nothing }, STYLE, UNTIL).html
    assert.doesNotMatch(page, /NaN|Infinity|undefined|null/)
  })
})

describe('a chart', () => {
  const pointsOf = (values: (number | null)[]) => values.map((value, at) => ({ label: String(at), value, tooltip: '' }))

  it('has a column for each value, within its frame', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_000_000), { maxLength: 120 }), (values) => {
        const { html } = columnChart('x', pointsOf(values))
        const heights = [...html.matchAll(/<rect\s[^>]*?\sheight="([^"]+)"/g)].map(([, height]) => Number(height))
        assert.equal(heights.length, values.length)
        for (const [at, height] of heights.entries()) {
          assert.ok(height >= 0 && height <= 190)
          for (const [other, higher] of heights.entries()) if (values[at]! > values[other]!) assert.ok(height >= higher)
        }
      }),
      seeded({ numRuns: 50 }),
    )
  })

  it('has a line with a gap for each missing value', () => {
    const { html } = shareChart('x', pointsOf([0, 0.2, null, 0.8, 1]))
    assert.equal(/<path class="line" d="([^"]+)"/.exec(html)![1]!.replaceAll(/[\d. ]+/g, ''), 'MLML')
    assert.equal(html.split('<circle').length - 1, 4)
  })
})
