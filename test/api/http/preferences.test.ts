import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isStrict, waitSeconds } from '../../../api/http/request-headers.ts'

const waited = (...preferences: string[]): number | undefined =>
  waitSeconds(new Headers(preferences.map((preference) => ['Prefer', preference])))

describe('Prefer: wait', () => {
  const seconds: Record<string, number> = {
    'wait=0': 0,
    'wait=7': 7,
    'wait=30': 30,
    'wait=31': 30,
    'wait=99999999999': 30,
    [`wait=${'9'.repeat(5_000)}`]: 30,
    'wait=00000000000007': 7,
    'WAIT \t=\t 7': 7,
    'wait="7"': 7,
    'wait=7;': 7,
    'wait=7 ; waited; by="a, b;c"': 7,
    'respond-async, wait=7': 7,
    ',, ,wait=7,,': 7,
    'handling=lenient;wait=1,wait=7': 7,
    'x="wait=1, \\", wait=2", wait=7': 7,
    'x="y;z" ; wait=1,wait=7': 7,
    'wait=7, wait=8': 7,
    'wait=7, wait=x': 7,
    'return=minimal,\twait=7,return=representation': 7,
  }
  it('is a whole number of seconds, 30 at most', () => {
    for (const [preference, expected] of Object.entries(seconds)) assert.equal(waited(preference), expected, preference)
  })

  const none = [
    ['', 'wait', 'wait=', 'wait=""', 'wait=x', 'wait=-1', 'wait=+1', 'wait=1.5', 'wait=1e1', 'wait=7s', 'wait=0x7'],
    ['wait=7 8', 'wait 7', 'wait==7', 'waits=7', 'await=7', 'x wait=7', 'wait="7', "wait='7'", 'wait=x, wait=7'],
    ['wait, wait=7', 'x="wait=7"', 'x="a, wait=7', 'x=y; wait=7', 'x="a\\", wait=7, "'],
  ].flat()
  it('is absent without a header, and in any other form', () => {
    assert.equal(waited(), undefined)
    for (const preference of none) assert.equal(waited(preference), undefined, preference)
  })

  it('is taken from the first header that has it', () => {
    assert.equal(waited('respond-async', 'wait=7', 'wait=8'), 7)
  })

  it('is found in linear time: quadratic time would exceed the time of a test', () => {
    for (const part of ['"', '\\"', ' ', '\t', ',', ';', 'wait', 'wait=', 'wait="', 'a="\\', ' "\\",']) {
      waited(`wait${part.repeat(1_000_000 / part.length)}x`)
    }
  })
})

describe('Prefer: handling', () => {
  const strict: Record<string, boolean> = {
    'handling=strict': true,
    'wait=3, Handling = "STRICT" ;x=y': true,
    'handling=strict, handling=lenient': true,
    'handling=lenient, handling=strict': false,
    'handling="strict': false,
    'handling=stricter': false,
    handling: false,
    'x="handling=strict"': false,
  }
  it('is strict if its first value says so', () => {
    for (const [preference, expected] of Object.entries(strict)) {
      assert.equal(isStrict(new Headers({ Prefer: preference })), expected, preference)
    }
  })
})
