import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createCounter, createHistogram, gauge, gaugeOf, metricText } from '../../process/metric-text.ts'

describe('metricText', () => {
  it('writes names, labels and values, and says of a metric without figures that it exists', () => {
    const metrics = [
      gauge('depth', 'How deep.', [{ labels: { queue: 'a', state: 'b' }, value: 2 }]),
      gaugeOf('known', 'One.', 0.5),
      gaugeOf('unknown', 'None.', undefined),
    ]
    assert.equal(
      metricText(metrics),
      [
        '# HELP depth How deep.',
        '# TYPE depth gauge',
        'depth{queue="a",state="b"} 2',
        '# HELP known One.',
        '# TYPE known gauge',
        'known 0.5',
        '# HELP unknown None.',
        '# TYPE unknown gauge',
        '',
      ].join('\n'),
    )
  })

  it('escapes what would end a label', () => {
    const text = metricText([gauge('a', 'A.', [{ labels: { b: 'c"d\\e\nf' }, value: 1 }])])
    assert.ok(text.includes('a{b="c\\"d\\\\e\\nf"} 1\n'), text)
  })
})

describe('a counter', () => {
  it('counts apart for each set of labels', () => {
    const counter = createCounter('n_total', 'N.')
    counter.add({ a: '1' })
    counter.add({ a: '2' }, 3)
    counter.add({ a: '1' })
    assert.equal(counter.total(), 5)
    assert.match(metricText([counter.read()]), /n_total\{a="1"\} 2\nn_total\{a="2"\} 3\n$/)
  })
})

describe('a histogram', () => {
  it('has what is at most each bound, the sum and the count', () => {
    const histogram = createHistogram('t_seconds', 'T.', [1, 2])
    for (const value of [0.5, 1, 1.5, 9]) histogram.observe({ q: 'a' }, value)
    histogram.observe({ q: 'b' }, 2)
    assert.deepEqual(histogram.totals(), [2, 2, 1])
    assert.equal(
      metricText([histogram.read()]),
      [
        '# HELP t_seconds T.',
        '# TYPE t_seconds histogram',
        't_seconds_bucket{q="a",le="1"} 2',
        't_seconds_bucket{q="a",le="2"} 3',
        't_seconds_bucket{q="a",le="+Inf"} 4',
        't_seconds_sum{q="a"} 12',
        't_seconds_count{q="a"} 4',
        't_seconds_bucket{q="b",le="1"} 0',
        't_seconds_bucket{q="b",le="2"} 1',
        't_seconds_bucket{q="b",le="+Inf"} 1',
        't_seconds_sum{q="b"} 2',
        't_seconds_count{q="b"} 1',
        '',
      ].join('\n'),
    )
  })
})
