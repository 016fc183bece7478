import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import * as v from 'valibot'

const FILE = new URL('../../../api/operators/grafana-dashboard.json', import.meta.url)

const dashboard = v.object({
  title: v.string(),
  panels: v.array(
    v.object({
      title: v.pipe(v.string(), v.nonEmpty()),
      type: v.string(),
      description: v.pipe(v.string(), v.nonEmpty()),
      fieldConfig: v.object({ defaults: v.object({ unit: v.pipe(v.string(), v.nonEmpty()) }) }),
      gridPos: v.object({ h: v.number(), w: v.number(), x: v.number(), y: v.number() }),
      targets: v.pipe(v.array(v.object({ expr: v.string(), legendFormat: v.string() })), v.nonEmpty()),
    }),
  ),
})

describe('the dashboard for Grafana', () => {
  it('has a unit and its own title and text for every panel, and no overlapping panels', () => {
    const { panels } = v.parse(dashboard, JSON.parse(readFileSync(FILE, 'utf8')))
    assert.ok(panels.length >= 10)
    assert.equal(new Set(panels.map(({ title }) => title)).size, panels.length)
    assert.equal(new Set(panels.map(({ description }) => description)).size, panels.length)
    const taken = panels.flatMap(({ gridPos: { h, w, x, y } }) =>
      Array.from({ length: h * w }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
    )
    assert.equal(new Set(taken).size, taken.length)
  })
})
