import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Figure, figureOf, createProcessMetrics } from '../../runtime/metrics.ts'

const linesOf = (text: string, name: string): string[] => text.split('\n').filter((line) => line.startsWith(name))

describe('the metrics of a process', () => {
  it('tell version and runtime, memory, and what was counted', async () => {
    const metrics = createProcessMetrics('worker')
    const counter = metrics.counter({ name: 'n_total', help: 'N.', labels: ['a'] })
    counter.inc({ a: 'c"d\\e\nf' })
    const histogram = metrics.histogram({ name: 't_seconds', help: 'T.', buckets: [1, 2] })
    for (const value of [0.5, 1, 9]) histogram.observe(value)
    const text = await metrics.text()
    const [build] = linesOf(text, 'feedback_insights_build_info{')
    assert.match(build ?? '', /process="worker",version="\d+\.\d+\.\d+",runtime="(?:bun|deno) \d/)
    const [memory] = linesOf(text, 'process_resident_memory_bytes ')
    assert.ok(Number(memory?.split(' ')[1]) > 1e7, String(memory))
    assert.deepEqual(linesOf(text, 'n_total{'), ['n_total{a="c\\"d\\\\e\\nf"} 1'])
    assert.deepEqual(linesOf(text, 't_seconds_bucket{'), [
      't_seconds_bucket{le="1"} 2',
      't_seconds_bucket{le="2"} 2',
      't_seconds_bucket{le="+Inf"} 3',
    ])
  })

  it('leave out unknown figures, and figures of labels that are gone', async () => {
    const metrics = createProcessMetrics('api')
    const known: { depth?: number; taken: Figure[] } = { taken: [] }
    metrics.gauge({ name: 'depth', help: 'How deep.' }, () => figureOf(known.depth))
    metrics.scrapedCounter({ name: 'taken_total', help: 'Taken.', labels: ['queue'] }, () => known.taken)
    assert.deepEqual(linesOf(await metrics.text(), 'depth'), [])
    known.depth = 2
    known.taken = [{ labels: { queue: 'a' }, value: 3 }]
    for (let time = 0; time < 2; time++) {
      const text = await metrics.text()
      assert.deepEqual(
        [...linesOf(text, 'depth'), ...linesOf(text, 'taken_total')],
        ['depth 2', 'taken_total{queue="a"} 3'],
      )
    }
    known.taken = [{ labels: { queue: 'b' }, value: 1 }]
    assert.deepEqual(linesOf(await metrics.text(), 'taken_total'), ['taken_total{queue="b"} 1'])
  })
})
