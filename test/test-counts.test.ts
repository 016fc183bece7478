import assert from 'node:assert/strict'
import { it } from 'node:test'
import { countTests } from './support/test-counts.ts'

const FILES = ['./test/a.test.ts', './test/b.test.ts']
const report = (...cases: readonly [file: string, name: string, content?: string][]): string =>
  `<testsuites>${cases
    .map(([file, name, content = '']) => `<testcase classname="${file}" name="${name}">${content}</testcase>`)
    .join('')}</testsuites>`
const FAILURE = '<failure message="why"></failure>'

it('a group counts only if it fails and none of its tests does', () => {
  const counts = countTests(
    report(
      ['./test/a.test.ts', 'whole'],
      ['./test/a.test.ts', 'whole &gt; one'],
      ['./test/a.test.ts', 'whole &gt; two'],
      ['./test/b.test.ts', 'hook fails', FAILURE],
      ['./test/b.test.ts', 'hook fails &gt; one'],
      ['./test/b.test.ts', 'test fails', FAILURE],
      ['./test/b.test.ts', 'test fails &gt; one', FAILURE],
    ),
    FILES,
  )
  assert.deepEqual(counts, {
    passed: 3,
    failed: ['test/b.test.ts: hook fails\n    why', 'test/b.test.ts: test fails > one\n    why'],
    skipped: [],
  })
})

it('a test counts if a group of another file has its title', () => {
  const counts = countTests(
    report(
      ['./test/a.test.ts', 'a client', FAILURE],
      ['./test/b.test.ts', 'a client', FAILURE],
      ['./test/b.test.ts', 'a client &gt; one', FAILURE],
    ),
    FILES,
  )
  assert.deepEqual(counts.failed, ['test/a.test.ts: a client\n    why', 'test/b.test.ts: a client > one\n    why'])
})

it('a file without a reported test counts as a failure', () => {
  assert.deepEqual(countTests(report(['./test/a.test.ts', 'one']), FILES).failed, [
    './test/b.test.ts: reported no test',
  ])
})
