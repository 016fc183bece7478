import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { printable } from '../../runtime/printable.ts'

describe('a text for a terminal', () => {
  it('shows control characters instead of executing them', () => {
    assert.equal(printable('\u001b[2Jname\u0007\u009b31m\r'), '\\x1b[2Jname\\x07\\x9b31m\\x0d')
  })

  it('keeps line feeds, tabs, and letters outside of ASCII', () => {
    assert.equal(printable('a\tb\nGrüße 日本'), 'a\tb\nGrüße 日本')
  })
})
