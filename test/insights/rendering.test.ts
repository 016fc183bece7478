import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { Parser } from 'htmlparser2'
import { columnChart, shareChart } from '../../insights/charts.ts'
import { html } from '../../insights/html.ts'
import { cut, label, table } from '../../insights/parts.ts'
import { filterOf, readView, spannedOf, type View, within } from '../../insights/view.ts'
import { seeded } from '../support/property-seed.ts'

const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '</title></style><iframe src="javascript:alert(1)">',
  '<!--',
  '&lt;script&gt;',
  '\u202egnp.exe',
]

/** The elements of a page with the names of their attributes, and its text. */
const parsed = (page: string): { elements: string[]; text: string } => {
  const elements: string[] = []
  let text = ''
  const parser = new Parser({
    onopentag: (name, attributes) => elements.push([name, ...Object.keys(attributes)].join(' ')),
    ontext: (piece) => (text += piece),
    oncomment: () => assert.fail('a comment'),
  })
  parser.end(page)
  return { elements, text }
}

describe('HTML', () => {
  const pageOf = (text: string): string =>
    html`<p title="${text}">${text}</p>
      ${table({ name: 'Name' }, [{ name: 'One' }, { name: text }], [[label(text), html`${text}`]])}`.html

  it('shows any text as text', () => {
    const pieces = fc.constantFrom(...'<>&"\'/=! -'.split(''), ...HOSTILE, 'a')
    const texts = fc.array(pieces, { minLength: 1, maxLength: 8 }).map((all) => all.join(''))
    fc.assert(
      fc.property(texts, (hostile) => {
        const { elements, text } = parsed(pageOf(hostile))
        assert.deepEqual(elements, parsed(pageOf('harmless')).elements)
        assert.ok(text.includes(hostile))
      }),
      seeded({ numRuns: 200, examples: HOSTILE.map((text): [string] => [text]) }),
    )
  })

  it('cuts a text by the bytes of its HTML, and no character in two', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), fc.integer({ min: 10, max: 100 }), (text, most) => {
        const shown = cut(text, most)
        assert.ok(Buffer.byteLength(html`${shown}`.html) <= most + Buffer.byteLength('…'))
        assert.ok(text.startsWith(shown.replace(/…$/, '')) || shown === text)
        assert.ok(shown.isWellFormed() || !text.isWellFormed())
      }),
      seeded({ numRuns: 200 }),
    )
  })

  it('ends a table before the row that would not fit', () => {
    const rows = Array.from({ length: 100 }, () => [html`${'x'.repeat(2_000)}`, html`1`])
    const shown = table({ name: 'Long' }, [{ name: 'One' }, { name: 'Two' }], rows).html
    assert.ok(shown.length < 50_000)
    assert.match(shown, /\d\d more rows, left out/)
  })
})

describe('the address of a page', () => {
  const NOW = new Date('2026-03-10T15:00:00Z')
  const viewOf = (query: string): View => {
    const view = readView(new URLSearchParams(query))
    assert.ok(!('problems' in view), JSON.stringify(view))
    return view
  }

  it('has four weeks as its span, and the time before it', () => {
    const { before, after, afterQuery, beforeQuery, unit } = spannedOf(viewOf(''), NOW)
    assert.deepEqual(after, { from: '2026-02-11T00:00:00.000Z', to: '2026-03-11T00:00:00.000Z' })
    assert.deepEqual(before, { from: '2026-01-14T00:00:00.000Z', to: '2026-02-11T00:00:00.000Z' })
    assert.deepEqual(afterQuery, { createdFrom: '2026-02-11', createdTo: '2026-03-10' })
    assert.deepEqual(beforeQuery, { createdFrom: '2026-01-14', createdTo: '2026-02-10' })
    assert.equal(unit, 'day')
  })

  it('goes up to today from a first day alone, and keeps times of day', () => {
    assert.deepEqual(spannedOf(viewOf('createdFrom=2026-03-01'), NOW).afterQuery, {
      createdFrom: '2026-03-01',
      createdTo: '2026-03-10',
    })
    const { afterQuery, beforeQuery } = spannedOf(
      viewOf('createdFrom=2026-03-01T06:00:00Z&createdTo=2026-03-01T12:00:00Z'),
      NOW,
    )
    assert.deepEqual(afterQuery, { createdFrom: '2026-03-01T06:00:00.000Z', createdTo: '2026-03-01T12:00:00.000Z' })
    assert.deepEqual(beforeQuery, { createdFrom: '2026-03-01', createdTo: '2026-03-01T06:00:00.000Z' })
  })

  it('holds in years that no calendar has', () => {
    for (const query of [
      'createdFrom=0001-01-01',
      'createdTo=9999-12-31',
      'createdFrom=9999-12-31',
      'createdFrom=2026-03-05&createdTo=2026-03-01',
    ]) {
      const { before, after } = spannedOf(viewOf(query), NOW)
      assert.ok(before.from <= before.to && before.to === after.from && after.from < after.to, query)
    }
  })

  it('ignores empty fields, and refuses what it does not know', () => {
    assert.deepEqual(viewOf('q=&tag=&source=shop&tag=a').query, { source: 'shop', tag: ['', 'a'] })
    assert.deepEqual(viewOf('tag=&tag=a').filters.tag, ['a'])
    for (const query of [
      'colour=red',
      'moodMax=x',
      'kind=x',
      'by=constructor',
      'similarId=1',
      'q=%20%2D',
      'field.page=%00',
      'name=%00',
      `q=${'x'.repeat(3_000)}`,
    ])
      assert.ok('problems' in readView(new URLSearchParams(query)), query)
  })

  it('of a group is the filter of the group within the span', () => {
    const span = { createdFrom: '2026-02-11', createdTo: '2026-03-10', source: 'shop' }
    assert.deepEqual(within(span, filterOf('month', '2026-02')), { ...span, createdTo: '2026-02-28' })
    assert.deepEqual(within(span, filterOf('week', '2026-03-09')), { ...span, createdFrom: '2026-03-09' })
    assert.equal(within(span, filterOf('month', '2026-04')), undefined)
    assert.deepEqual(within(span, filterOf('field.plan', 'trial')), { ...span, 'field.plan': 'trial' })
    assert.equal(within(span, filterOf('theme', null)), undefined)
  })
})

describe('a chart', () => {
  const pointsOf = (values: (number | null)[]) => values.map((value, at) => ({ label: String(at), value, tooltip: '' }))

  it('has a column for each value, within its frame', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_000_000), { maxLength: 120 }), (values) => {
        const { html: drawn } = columnChart('x', pointsOf(values))
        const heights = [...drawn.matchAll(/<rect\s[^>]*?\sheight="([^"]+)"/g)].map(([, height]) => Number(height))
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
    const { html: drawn } = shareChart('x', pointsOf([0, 0.2, null, 0.8, 1]))
    assert.equal(/<path class="line" d="([^"]+)"/.exec(drawn)![1]!.replaceAll(/[\d. ]+/g, ''), 'MLML')
    assert.equal(drawn.split('<circle').length - 1, 4)
  })
})
