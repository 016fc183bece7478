import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { Parser } from 'htmlparser2'
import { columnChart, lineChart } from '../../../cli/report/charts.ts'
import { periodOf, type Report } from '../../../cli/report/report.ts'
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

const reportOf = (text: string): Report => {
  const examples = [{ tag: text, description: text, rating: 1, at: SINCE, contact: text, account: text }]
  return {
    workspace: text,
    period: periodOf(SINCE, UNTIL),
    now: { feedback: 12, contacts: 3, accounts: 2, rating: 2.5 },
    before: { feedback: 0, contacts: 0, accounts: 0, rating: null },
    steps: [
      { begin: SINCE, feedback: 12, rating: 2.5 },
      { begin: UNTIL, feedback: 0, rating: null },
    ],
    topics: [
      { tag: text, feedback: 12, before: 0, rating: null, accounts: 1, contractValue: null, steps: [12, 0], examples },
    ],
    news: [{ tag: text, feedback: 12, weeklyBefore: 0, rating: 1, examples }],
    accounts: [{ name: text, contractValue: 12_000, feedback: 12, rating: 1, ratingBefore: 4, tags: [text] }],
    sources: [{ source: text, ratings: 12, csat: 50, nps: null }],
    projects: [{ project: text, feedback: 12, rating: 3 }],
  }
}

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

  it('has examples, charts with a text for each column, a mark at a rating that fell, and full bars', () => {
    const page = inOneLine(pageOf('harmless'))
    assert.match(page, /<details><summary>Examples<\/summary>/)
    assert.match(page, /<title>week of 2026-01-05: 12 feedback, rated 2\.5<\/title>/)
    assert.match(page, /<title>week of 2026-03-30: 0 feedback, rated –<\/title>/)
    assert.match(page, /1\.0 ↓/)
    assert.match(page, /50 %/)
    assert.match(page, /aria-label="Feedback over time: 12, 0"/)
    const widths = [...page.matchAll(/<rect width="([^"]+)" height="10"/g)].map(([, width]) => width)
    assert.deepEqual(new Set(widths), new Set(['100.0']), 'the largest value of a table has a full bar')
  })

  it('has an axis of short numbers that reaches the lowest and the highest mean rating', () => {
    const steps = [1 / 3, 85].map((rating) => ({ begin: SINCE, feedback: 1, rating }))
    const page = inOneLine(reportPage({ ...reportOf('x'), steps }, STYLE, UNTIL).html)
    const [, chart = ''] = page.split('aria-label="Mean rating each week"')
    const labels = [...chart.matchAll(/text-anchor="end" ?>([^<]*)</g)].map(([, label]) => label)
    assert.deepEqual(labels, ['0', '50', '100'])
  })

  it('is a page even without feedback', () => {
    const nothing = { feedback: 0, contacts: 0, accounts: 0, rating: null }
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
    const { html } = lineChart('x', pointsOf([1, 2, null, 4, 5]), [1, 5])
    assert.equal(/<path class="line" d="([^"]+)"/.exec(html)![1]!.replaceAll(/[\d. ]+/g, ''), 'MLML')
    assert.equal(html.split('<circle').length - 1, 4)
  })
})
