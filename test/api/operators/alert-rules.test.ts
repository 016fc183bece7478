import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import * as v from 'valibot'
import { parse as parseYaml } from 'yaml'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { describeWhere, missingProgram } from '../../support/where.ts'

const RULES = fileURLToPath(new URL('../../../api/operators/alert-rules.yaml', import.meta.url))
const RULES_TEXT = readFileSync(RULES, 'utf8')

/**
 * `series` are added to the series of a healthy installation, or replace them. `after`: when the
 * alerts are read. `alert`: the only alert that fires; none if absent.
 */
type Case = readonly [name: string, series: Readonly<Record<string, string>>, after: string, alert?: string]

const PROCESSES = 'feedback_insights_processes{kind="worker",instance="api:1"}'
const REACHES_REDIS = 'feedback_insights_up{server="redis",instance="api:1"}'
const NONE = ''
const CASES: readonly Case[] = [
  ['all is well', {}, '10m'],
  ['no process is scraped', { [PROCESSES]: NONE, [REACHES_REDIS]: NONE }, '5m', 'NoApi'],
  ['the last API process ended', { [PROCESSES]: '1 1 1 stale', [REACHES_REDIS]: '1 1 1 stale' }, '8m', 'NoApi'],
  ['Redis, which lists the processes, is away', { [PROCESSES]: NONE, [REACHES_REDIS]: '0x20' }, '10m', 'ServerAway'],
  ['no worker reports', { [PROCESSES]: '0x20' }, '10m', 'NoWorker'],
  ['a worker is frozen', { 'feedback_insights_silent_workers{instance="api:1"}': '0 0 1x20' }, '10m', 'WorkerSilent'],
  [
    'one of several processes has ended, and a foreign program too',
    {
      'feedback_insights_build_info{job="f",instance="api:2"}': '1 1 1 stale',
      'up{job="f",instance="api:2"}': '1 1 1 0x20',
      'up{job="other",instance="api:2"}': '0x20',
    },
    '12m',
    'ProcessDown',
  ],
  ['Postgres is away', { 'feedback_insights_up{server="postgres",instance="api:1"}': '0x20' }, '10m', 'ServerAway'],
  ['jobs grow old', { 'feedback_insights_queue_oldest_seconds{queue="wake"}': '0+60x20' }, '15m', 'JobsOld'],
  ['a log is not applied', { 'feedback_insights_waiting_oldest_seconds{workspace="w"}': '0+60x20' }, '15m', 'LogOld'],
  ['a submission died', { 'feedback_insights_ledger{workspace="w",state="dead"}': '0x5 1x15' }, '10m', 'Dead'],
]

const text = v.pipe(v.string(), v.nonEmpty())
const ruleFile = v.object({
  groups: v.tuple([
    v.object({
      name: text,
      rules: v.array(
        v.object({
          alert: v.pipe(v.string(), v.regex(/^FeedbackInsights[A-Z]\w+$/)),
          expr: text,
          labels: v.object({ severity: v.picklist(['critical', 'warning']) }),
          annotations: v.object({ summary: text, description: text }),
        }),
      ),
    }),
  ]),
})

const rulesIn = (yaml: string) => v.parse(ruleFile, parseYaml(yaml)).groups[0].rules

/** Tests for promtool. JSON is valid YAML. Each case says of every rule whether its alert fires. */
const testFile = (): string =>
  JSON.stringify({
    rule_files: [RULES],
    evaluation_interval: '1m',
    tests: CASES.map(([name, series, after, firing]) => ({
      name,
      interval: '1m',
      input_series: Object.entries({ [PROCESSES]: '1x20', [REACHES_REDIS]: '1x20', ...series })
        .filter(([, values]) => values !== NONE)
        .map(([selector, values]) => ({ series: selector, values })),
      promql_expr_test: rulesIn(RULES_TEXT).map(({ alert }) => ({
        expr: `count(ALERTS{alertname="${alert}",alertstate="firing"})`,
        eval_time: after,
        exp_samples: alert === `FeedbackInsights${firing}` ? [{ labels: '{}', value: 1 }] : [],
      })),
    })),
  })

// promtool is a program of Debian's package `prometheus`.
describeWhere('the alert rules, as Prometheus takes them', missingProgram('promtool'), () => {
  it('are valid', () => {
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', RULES], { encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
  })

  it('let only the expected alert fire in each case', () => {
    const file = join(temporaryDirectory(), 'rules.test.yaml')
    writeFileSync(file, testFile())
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
  })
})

describe('the alert rules', () => {
  it('have names of their own, summaries and descriptions', () => {
    const rules = rulesIn(RULES_TEXT)
    assert.ok(rules.length >= 8)
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
  })

  it('name existing commands', () => {
    const { scripts } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
      scripts: object
    }
    const named = [...RULES_TEXT.matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name!)
    assert.ok(named.length > 5)
    assert.deepEqual(
      named.filter((name) => !Object.hasOwn(scripts, name)),
      [],
    )
  })
})
