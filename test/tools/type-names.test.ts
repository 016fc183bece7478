import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findDoubleTypeNames } from '../../tools/type-names.ts'

const first = {
  path: 'api/first.ts',
  text: 'type Row = { id: string }\nexport type Page<T> = T[]\nexport class Log {}\n',
}

const findBeside = (text: string, path = 'db/second.ts'): string[] => findDoubleTypeNames([first, { path, text }])

it('finds a name that types, interfaces or exported classes of two files have', () => {
  const found = 'Row is the name of several types: api/first.ts, db/second.ts'
  assert.deepEqual(findBeside('export type Row = string\n'), [found])
  assert.deepEqual(findBeside('const read = () => {\n  type Row = string\n}\n'), [found])
  assert.deepEqual(findBeside('interface Row {}\n'), [found])
  assert.deepEqual(findBeside('export interface Row extends Base {}\n'), [found])
  assert.deepEqual(findBeside('export class Row {}\n'), [found])
  assert.deepEqual(findBeside('export abstract class Log {}\ntype Page = string\n'), [
    'Page is the name of several types: api/first.ts, db/second.ts',
    'Log is the name of several types: api/first.ts, db/second.ts',
  ])
})

it('finds no use of a name, no longer name, and no class of one file', () => {
  assert.deepEqual(findBeside("import {\n  type Row,\n  type Page,\n} from '../api/first.ts'\n"), [])
  assert.deepEqual(findBeside('type RowOf<T> = T\ntype ChangeRow = string\nclass Log {}\n'), [])
  assert.deepEqual(findBeside('// One type Row = one table.\nconst row: Row = []\n'), [])
})

it('compares neither the client nor tests nor recipes', () => {
  for (const folder of ['client', 'test/db', 'docs/recipes'])
    assert.deepEqual(findBeside('type Row = string\n', `${folder}/second.ts`), [])
})

it('counts a file with two types of one name once', () => {
  assert.deepEqual(findDoubleTypeNames([{ path: 'db/only.ts', text: 'type Row = 1\n{\n  type Row = 2\n}\n' }]), [])
})
