import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { countTests, errorsBesideTests } from './test-counts.ts'

describe('counting tests', () => {
  it('reads the report of Bun', () => {
    const report = `
      <testsuites name="bun test" tests="4" failures="1" skipped="1">
        <testsuite name="test/a.test.ts" file="test/a.test.ts">
          <testsuite name="outer" file="test/a.test.ts">
            <testcase name="one" classname="outer" file="test/a.test.ts" line="3" />
            <testcase name="two" classname="outer" file="test/a.test.ts"><failure type="E" message="it&apos;s&#10;1 &gt; 0">…</failure></testcase>
          </testsuite>
          <testcase name="later" classname="" file="test/a.test.ts"><skipped message="TODO" /></testcase>
          <testcase name="three" classname="" file="test/a.test.ts"/>
        </testsuite>
      </testsuites>`
    assert.deepEqual(countTests(report, ['test/a.test.ts']), {
      passed: 2,
      failed: ["test/a.test.ts: two\n    it's\n    1 > 0"],
      skipped: ['test/a.test.ts: later'],
    })
  })

  it('reads the report of Deno, in which groups are tests as well', () => {
    const report = `
      <testsuites name="deno test" tests="6" failures="3" errors="0">
        <testsuite name="./test/a.test.ts" tests="2" failures="1">
          <testcase name="outer" classname="./test/a.test.ts"><failure message="1 test step failed"></failure></testcase>
          <testcase name="later" classname="./test/a.test.ts"><skipped/></testcase>
        </testsuite>
        <testsuite name="elsewhere" tests="4" failures="2">
          <testcase name="outer &gt; one" classname="elsewhere"></testcase>
          <testcase name="outer &gt; inner" classname="elsewhere"><failure message="1 test step failed"></failure></testcase>
          <testcase name="outer &gt; inner &gt; two" classname="elsewhere"><failure message="no"></failure></testcase>
          <testcase name="outer &gt; inner &gt; three" classname="elsewhere"></testcase>
        </testsuite>
      </testsuites>`
    assert.deepEqual(countTests(report, ['test/a.test.ts']), {
      passed: 2,
      failed: ['elsewhere: outer > inner > two\n    no'],
      skipped: ['test/a.test.ts: later'],
    })
  })

  it('counts a file that reports nothing as a failure', () => {
    assert.deepEqual(countTests('', ['test/a.test.ts', 'test/b.test.ts']), {
      passed: 0,
      failed: ['test/a.test.ts: nothing', 'test/b.test.ts: nothing'],
      skipped: [],
    })
  })

  it('finds the errors of hooks, which reports lack', () => {
    const output = `
(pass) one [1.00ms]

# Unhandled error between tests
-------------------------------
60 |     const fail = () => {}
error: not started:
no port
-------------------------------

(fail) two [1.00ms]
`
    assert.deepEqual(errorsBesideTests(output), [
      'Unhandled error between tests\n    60 |     const fail = () => {}\n    error: not started:\n    no port',
    ])
  })
})
