import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { ImportError } from '../../../cli/import/import-error.ts'
import { describeFile, findInputFile, type InputFile } from '../../../cli/import/input-file.ts'
import { type BadRow, readColumns, readRows, type Row } from '../../../cli/import/read-rows.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { seeded } from '../../support/property-seed.ts'

describe('rows of a file', () => {
  const folder = temporaryDirectory()

  type Written = { path: string; delimiter?: string }
  const fileOf = (content: string | Buffer, { format = 'csv', delimiter }: Partial<InputFile> = {}): Written => {
    const path = join(folder, `input.${format}`)
    writeFileSync(path, content)
    return { path, ...(delimiter !== undefined && { delimiter }) }
  }
  const fileAt = ({ path, ...given }: Written): Promise<InputFile> => findInputFile(path, given)
  const read = async (file: Written): Promise<(Row | BadRow)[]> => {
    const rows: (Row | BadRow)[] = []
    for await (const row of readRows(await fileAt(file))) rows.push(row)
    return rows
  }

  it('keeps quotes, delimiters and line breaks within cells, and says where a row begins', async () => {
    const file = fileOf('a,b\r\n1,"x\r\ny"\r\n\r\n2,"she said ""no"", then left"\r\n3,plain\n')
    assert.deepEqual(await read(file), [
      { line: 2, cells: { a: '1', b: 'x\r\ny' } },
      { line: 5, cells: { a: '2', b: 'she said "no", then left' } },
      { line: 6, cells: { a: '3', b: 'plain' } },
    ])
  })

  it('finds what it is written in, and says so', async () => {
    const text = 'a,b\n1,€é\n'
    const written = {
      'utf-8': Buffer.from(text),
      'windows-1252': Buffer.from([...Buffer.from('a,b\n1,'), 0x80, 0xe9, 0x0a]),
      'utf-16le': Buffer.from(`\ufeff${text}`, 'utf16le'),
      'utf-16be': Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
    }
    for (const [encoding, content] of Object.entries(written)) {
      const file = await fileAt(fileOf(content))
      assert.deepEqual([file.encoding, describeFile(file)], [encoding, `${encoding}, separated by commas`])
      assert.deepEqual(await read(fileOf(content)), [{ line: 2, cells: { a: '1', b: '€é' } }])
    }
  })

  it('gives the elements of an array as they are written, with their lines', async () => {
    const content = ' \n[{"n": 1152921504606846976, "s": "a]\\\\\\",{"},\n\n {"x":[1,\n{}]} , 5,\n{bad}]\n'
    assert.deepEqual(await read(fileOf(content, { format: 'json' })), [
      {
        line: 2,
        cells: { n: 2 ** 60, s: 'a]\\",{' },
        text: '{"n": 1152921504606846976, "s": "a]\\\\\\",{"}',
      },
      { line: 4, cells: { x: [1, {}] }, text: '{"x":[1,\n{}]}' },
      { line: 5, reasons: ['this is no JSON object'] },
      { line: 6, reasons: ['this is not JSON'] },
    ])
    assert.deepEqual(await read(fileOf('[ ]', { format: 'json' })), [])
    for (const none of ['{"a":1}', '[{"a":1}', '', '[1] [2]'])
      await assert.rejects(read(fileOf(none, { format: 'json' })), /no whole JSON array/)
  })

  it('reads UTF-8 and UTF-16 with a mark', async () => {
    const expected = [{ line: 2, cells: { a: '1', b: 'é' } }]
    assert.deepEqual(await read(fileOf('\ufeffa,b\n1,é\n')), expected)
    assert.deepEqual(await read(fileOf(Buffer.from('\ufeffa,b\n1,é\n', 'utf16le'))), expected)
  })

  it('goes on after a row with too many cells or with stray quotes', async () => {
    const file = fileOf('a,b\n1,2,3\n"x"y",2\n4,5\n6\n7,8\n')
    const rows = await read(file)
    assert.deepEqual(
      rows.toSorted((one, other) => one.line - other.line),
      [
        { line: 2, reasons: ['the row has 3 columns, the header 2'] },
        { line: 3, reasons: ['malformed quotes: a quote within quotes is written twice'] },
        { line: 4, cells: { a: '4', b: '5' } },
        { line: 5, reasons: ['the row has 1 columns, the header 2'] },
        { line: 6, cells: { a: '7', b: '8' } },
      ],
    )
  })

  it('does not lose the rest of a file to a quote that is never closed', async () => {
    await assert.rejects(read(fileOf('a,b\n1,2\n"3"3,4\n4,5\n')), /somewhere after line 2/)
    await assert.rejects(read(fileOf('a,b\n1,2\n3,"open\n4,5\n')), (error: unknown) => {
      assert.ok(error instanceof ImportError)
      assert.match(error.message, /malformed somewhere after line 2: a quote is opened and never closed/)
      return true
    })
  })

  it('names columns, and finds what separates them', async () => {
    const columns = async (file: Written): Promise<string[]> => readColumns(await fileAt(file))
    assert.deepEqual(await columns(fileOf(' a ,,c\n')), ['a', 'column 2', 'c'])
    for (const mark of [';', '\t', '|', ',']) {
      assert.deepEqual(await columns(fileOf(`a${mark}"b;b,|,;"${mark}c\n`)), ['a', 'b;b,|,;', 'c'])
    }
    assert.deepEqual(await columns(fileOf('a;b;c,d\n', { delimiter: ',' })), ['a;b;c', 'd'])
    await assert.rejects(columns(fileOf('a,a\n')), /two columns named a/)
    await assert.rejects(columns(fileOf('')), /no header/)
  })

  it('gives lines of NDJSON as they are written, and names those that are none', async () => {
    const file = fileOf('\ufeff{"rating": 1.0}\n\nnot json\n[1]\r\n{"a":1}', { format: 'ndjson' })
    assert.deepEqual(await read(file), [
      { line: 1, cells: { rating: 1 }, text: '{"rating": 1.0}' },
      { line: 3, reasons: ['this is not JSON'] },
      { line: 4, reasons: ['this is no JSON object'] },
      { line: 5, cells: { a: 1 }, text: '{"a":1}' },
    ])
  })

  it('gives back whatever a spreadsheet can write', async () => {
    const cell = fc.string({
      unit: fc.constantFrom('a', '"', ',', '\n', '\r\n', ' ', 'é', '😀', ';', "'"),
      maxLength: 8,
    })
    const table = fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 8 })
    const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`
    await fc.assert(
      fc.asyncProperty(table, async (rows) => {
        const file = fileOf(`a,b\n${rows.map((row) => `${row.map(quoted).join(',')}\n`).join('')}`)
        const found = await read(file)
        assert.deepEqual(
          found.map((row) => ('cells' in row ? [row.cells['a'], row.cells['b']] : row.reasons)),
          rows.map(([a, b]) => [a, b]),
        )
        const breaks = rows.map((row) => row.join('').split('\n').length - 1)
        const begins = rows.map((_, at) => 2 + at + breaks.slice(0, at).reduce((sum, count) => sum + count, 0))
        assert.deepEqual(
          found.map(({ line }) => line),
          begins,
        )
      }),
      seeded({ numRuns: 100 }),
    )
  })
})
