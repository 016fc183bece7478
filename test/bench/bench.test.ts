import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readBenchConfig } from '../../bench/bench-config.ts'
import { feedbackBody } from '../../bench/bodies.ts'
import { judgeLines } from '../../bench/figures/lines.ts'
import { createMeasures, type Measure, UNITS } from '../../bench/figures/measures.ts'
import { growthPicture } from '../../bench/figures/picture.ts'
import { percentile, summarise } from '../../bench/figures/statistics.ts'
import { usageOf } from '../../bench/figures/usage.ts'
import { SECTIONS } from '../../bench/run-bench.ts'

const TINY = {
  BENCH_ROUNDS: '1',
  BENCH_SECONDS: '0.1',
  BENCH_CONNECTIONS: '4',
  BENCH_STORED: '400',
  BENCH_CONTACTS: '40',
  BENCH_BACKLOG: '40',
  BENCH_PURGED: '50',
  BENCH_WORKSPACES: '5',
  BENCH_WAITING: '40',
  BENCH_OF_KIND: '40',
  BENCH_LONE: '3',
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'bench-test-'))
after(() => rmSync(directory, { recursive: true, force: true }))

type Results = {
  lines: { what: string; figure: { median: number }; beside?: { median: number } }[]
  measures: { measure: Measure; rounds: number[] }[]
}

const runTiny = async (): Promise<{ printed: string; results: Results }> => {
  const output = join(directory, 'results.json')
  const runtime = process.versions['deno'] === undefined ? [] : ['run', '--allow-all', '--no-check']
  const child = spawn(process.execPath, [...runtime, 'bench/bench.ts', ...Object.keys(SECTIONS)], {
    cwd: root,
    env: { ...process.env, ...TINY, BENCH_OUTPUT: output },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let printed = ''
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  await once(child, 'close')
  assert.equal(child.exitCode, 0, said)
  return { printed, results: JSON.parse(readFileSync(output, 'utf8')) as Results }
}

describe('the benchmark', () => {
  it('takes every figure, judges every line, and prints them', async () => {
    const { printed, results } = await runTiny()
    assert.deepEqual(results.measures.map(({ measure }) => measure).toSorted(), Object.keys(UNITS).toSorted())
    for (const { measure, rounds } of results.measures) {
      assert.ok(rounds.length === 1 && Number.isFinite(rounds[0]), `${measure}: ${rounds.join(' ')}`)
    }
    assert.ok(results.lines.length >= 20)
    for (const { what } of results.lines) assert.ok(printed.includes(what), what)
  })

  it('draws the rates that could change with the amount that is there', () => {
    const output = join(directory, 'results.json')
    const runtime = process.versions['deno'] === undefined ? [] : ['run', '--allow-all', '--no-check']
    execFileSync(process.execPath, [...runtime, 'bench/picture-command.ts', directory, output], { cwd: root })
    for (const [file, amount] of [
      ['benchmark-stored.svg', '400'],
      ['benchmark-waiting.svg', '40'],
    ] as const) {
      const picture = readFileSync(join(directory, file), 'utf8')
      assert.match(picture, new RegExp(`^<svg [^]*>${amount}</text[^]*</svg>$`))
      assert.doesNotMatch(picture, /NaN|undefined/)
    }
  })

  it('draws a run that was too short for any figure', () => {
    const nothing = { median: 0, least: 0, most: 0 }
    const picture = growthPicture('Applied', 'stored', [{ amount: 400, withIt: nothing, without: nothing }])
    assert.doesNotMatch(picture, /NaN|undefined/)
  })

  it('says what is wrong with a size', () => {
    assert.throws(() => readBenchConfig({ BENCH_ROUNDS: 'three' }), /BENCH_ROUNDS must be a whole number/)
    assert.throws(() => readBenchConfig({ BENCH_SECONDS: '0' }), /BENCH_SECONDS must be seconds/)
  })
})

describe('a line of the table', () => {
  const verdictOf = (ours: readonly number[], plain: readonly number[]): string | undefined => {
    const measures = createMeasures(() => {})
    for (const value of ours) measures.add('end to end', value)
    for (const value of plain) measures.add('plain handler that inserts', value)
    const lines = judgeLines(readBenchConfig({}), measures)
    return lines.find(({ besides }) => besides === 'plain handler that inserts')?.verdict
  }

  it('is judged by the median of the ratios of its rounds', () => {
    assert.equal(verdictOf([140, 10, 1_400], [100, 100, 1_000]), 'aim reached')
    assert.equal(verdictOf([95, 10, 950], [100, 100, 1_000]), 'enough')
    assert.equal(verdictOf([50, 90, 500], [100, 100, 1_000]), 'falls short')
  })

  it('is only stated when there is nothing beside it', () => {
    assert.equal(verdictOf([90], []), 'stated')
  })

  it('has the median and the spread of several rounds', () => {
    assert.deepEqual(summarise([3, 1, 2]), { median: 2, least: 1, most: 3 })
    assert.deepEqual(summarise([4, 1]), { median: 2.5, least: 1, most: 4 })
    assert.throws(() => summarise([]))
  })
})

describe('the tools of the benchmark', () => {
  it('has percentiles of sorted values', () => {
    const values = Array.from({ length: 100 }, (_, index) => index)
    assert.equal(percentile(values, 0.5), 50)
    assert.equal(percentile(values, 0.99), 99)
    assert.equal(percentile([7], 0.99), 7)
    assert.equal(percentile([], 0.99), 0)
  })

  it('sees processor time and memory of a process and of its children', () => {
    const { own } = usageOf({ own: process.pid })
    assert.ok(own.cpuSeconds > 0 && own.memoryBytes > 1_000_000, JSON.stringify(own))
  })

  it('has feedback of about 350 bytes, each another', () => {
    const bodies = Array.from({ length: 100 }, (_, index) => feedbackBody(index, { people: 100_000 }))
    const lengths = bodies.map((body) => JSON.stringify(body).length)
    assert.ok(
      Math.min(...lengths) > 320 && Math.max(...lengths) < 380,
      `${Math.min(...lengths)}–${Math.max(...lengths)}`,
    )
    assert.equal(new Set(bodies.map(({ sourceId }) => sourceId)).size, bodies.length)
    assert.equal(new Set(bodies.map(({ contact }) => contact.email)).size, bodies.length)
  })
})
