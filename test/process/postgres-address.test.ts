import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readPostgresUrl } from '../../process/postgres-address.ts'

describe('the forms of DATABASE_URL', () => {
  it('of one server stays as it is', () => {
    for (const url of [
      'postgres://u:p@h:5432/d',
      'postgres:///d',
      'postgres://h',
      'postgresql://h/d?sslmode=require',
      'postgres://u:a%2Cb@h/d',
    ]) {
      assert.deepEqual(readPostgresUrl(url), { urls: [url], isPrimaryAsked: false })
    }
  })
  it('of several has a URL for each, which the attribute is not part of', () => {
    assert.deepEqual(
      readPostgresUrl('postgres://u:p@a:1,[::1]:2,c/d?target_session_attrs=read-write&sslmode=verify-full'),
      {
        urls: ['a:1', '[::1]:2', 'c'].map((host) => `postgres://u:p@${host}/d?sslmode=verify-full`),
        isPrimaryAsked: true,
      },
    )
    assert.deepEqual(readPostgresUrl('postgres://a/d?target_session_attrs=primary'), {
      urls: ['postgres://a/d'],
      isPrimaryAsked: true,
    })
  })
  it('of several without the attribute, and anything else, is refused', () => {
    for (const text of [
      'postgres://a,b/d',
      'postgres://a,b/d?target_session_attrs=any',
      'postgres://a:1,b:x/d?target_session_attrs=primary',
      'postgres://,a/d?target_session_attrs=primary',
      'postgres://a,/d?target_session_attrs=primary',
      'http://a/d',
      '',
    ]) {
      assert.equal(readPostgresUrl(text), undefined, text)
    }
  })
})
