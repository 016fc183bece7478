import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readAudit } from './dependency-audit.ts'

describe('the audit of dependencies', () => {
  it('is clean without vulnerabilities', () => {
    assert.deepEqual(readAudit('{"auditReportVersion": 2, "vulnerabilities": {}}'), { state: 'clean' })
  })

  it('names what is high or critical and leaves the rest', () => {
    const vulnerabilities = { a: { severity: 'high' }, b: { severity: 'moderate' }, c: { severity: 'critical' } }
    assert.deepEqual(readAudit(JSON.stringify({ vulnerabilities })), {
      state: 'findings',
      names: ['a (high)', 'c (critical)'],
    })
  })

  it('is unavailable where the registry has no such service', () => {
    const printed = JSON.stringify({ message: '405 Method Not Allowed', statusCode: 405, error: { summary: '' } })
    assert.deepEqual(readAudit(printed), { state: 'unavailable', reason: 'the registry answered 405' })
  })

  it('is unavailable without a network', () => {
    const printed = JSON.stringify({ message: 'request failed', error: { code: 'ENOTFOUND', summary: '' } })
    assert.deepEqual(readAudit(printed), { state: 'unavailable', reason: 'npm could not reach the registry' })
    for (const nothing of ['', 'npm error', 'null', '[]'])
      assert.equal(readAudit(nothing).state, 'unavailable', nothing)
  })
})
