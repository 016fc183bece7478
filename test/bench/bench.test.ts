import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readBenchConfig } from '../../bench/bench-config.ts'
import { judgeLines } from '../../bench/figures/lines.ts'
import { createMeasures, type Measure } from '../../bench/figures/measures.ts'
import type { SectionName } from '../../bench/run-bench.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const SECTION: SectionName = 'end-to-end'
const TINY = { BENCH_ROUNDS: '1', BENCH_SECONDS: '0.1', BENCH_CONNECTIONS: '4' }

const root = fileURLToPath(new URL('../..', import.meta.url))

type Results = { lines: { what: string }[]; measures: { measure: Measure; rounds: number[] }[] }

describe('the benchmark', () => {
  const output = join(temporaryDirectory(), 'results.json')
  const run = (section: string) => {
    const env = { ...process.env, ...TINY, BENCH_OUTPUT: output }
    return spawnSync(process.execPath, ['bench/bench.ts', section], { cwd: root, env, encoding: 'utf8' })
  }

  it('measures the figures of a section, and prints their lines', () => {
    const { status, stdout, stderr } = run(SECTION)
    assert.equal(status, 0, stderr)
    const { measures, lines } = JSON.parse(readFileSync(output, 'utf8')) as Results
    assert.ok(measures.some(({ measure }) => measure === 'end to end'))
    for (const { measure, rounds } of measures)
      assert.ok(rounds.length === 1 && Number.isFinite(rounds[0]), `${measure}: ${rounds.join(' ')}`)
    assert.ok(lines.length > 0)
    for (const { what } of lines) assert.ok(stdout.includes(what), what)
  })

  it('refuses a word that names no section', () => {
    const { status, stderr } = run('toString')
    assert.equal(status, 1)
    assert.match(stderr, /There is no section toString\./)
  })

  it('judges a ratio by the median of the ratios of its rounds, and only states it if the comparison was not measured', () => {
    const verdictOf = (ours: readonly number[], plain: readonly number[]): string | undefined => {
      const measures = createMeasures(() => {})
      for (const value of ours) measures.add('end to end', value)
      for (const value of plain) measures.add('plain handler that inserts', value)
      const lines = judgeLines(readBenchConfig({}), measures)
      return lines.find(({ compared }) => compared === 'plain handler that inserts')?.verdict
    }
    assert.equal(verdictOf([140, 10, 1_400], [100, 100, 1_000]), 'aim reached')
    assert.equal(verdictOf([95, 10, 950], [100, 100, 1_000]), 'enough')
    assert.equal(verdictOf([50, 90, 500], [100, 100, 1_000]), 'falls short')
    assert.equal(verdictOf([90], []), 'stated')
  })
})
