import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findLongSql } from './sql-size.ts'

const find = (text: string, path = 'db/functions/facts.sql'): string[] => findLongSql([{ path, text }])
const lines = (count: number, line = '  perform 1;'): string => Array.from({ length: count }, () => line).join('\n')
/** A function with three lines around its body. */
const functionOf = (body: string, quote = '$$'): string =>
  `create or replace function gather(ws uuid) returns void\n  language plpgsql as ${quote}\n${body}\n${quote};\n`

describe('SQL that is too long to be read at once', () => {
  it('is a file of more than 300 lines', () => {
    assert.deepEqual(find(`${lines(300)}\n`), [])
    assert.deepEqual(find(`${lines(301)}\n`), ['db/functions/facts.sql has 301 lines, which is more than 300'])
  })

  it('is a function of more than 60 lines, however its body is quoted', () => {
    for (const quote of ['$$', '$body$']) {
      assert.deepEqual(find(functionOf(lines(57), quote)), [])
      assert.deepEqual(find(functionOf(lines(58), quote)), [
        'db/functions/facts.sql: gather has 61 lines, which is more than 60',
      ])
    }
  })

  it('is each such function, and none that only stands between two of them', () => {
    const found = find(
      functionOf(lines(70)) + functionOf(lines(20)).replace('gather', 'forget') + functionOf(lines(80)),
    )
    assert.deepEqual(
      found.map((sentence) => / (\w+) has (\d+) /.exec(sentence)?.slice(1)),
      [
        ['gather', '73'],
        ['gather', '83'],
      ],
    )
  })

  it('is a procedure as well', () => {
    assert.equal(find(functionOf(lines(58)).replace('or replace function', 'procedure')).length, 1)
  })

  it('is no function whose lines over the bound are comments, and no tables', () => {
    assert.deepEqual(find(functionOf(`${lines(57)}\n  -- why\n${lines(20, '  -- a reason')}`)), [])
    assert.deepEqual(find(`create table t (\n${lines(100, '  a int,')}\n  b int\n);`), [])
  })

  it('is neither the dump of the schema nor a file of another kind', () => {
    assert.deepEqual(find(lines(400), 'db/schema.sql'), [])
    assert.deepEqual(find(lines(400), 'docs/queries.md'), [])
  })
})
