import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { isRemark } from '../../../cli/import/build-bodies.ts'
import { countBreaks, mergeLines } from '../../../cli/import/lines.ts'
import { openText } from '../../../cli/import/source-file.ts'
import { seeded } from '../../support/property-seed.ts'

const RUNS = 300
const END = fc.constantFrom('\n', '\r\n', '\r')
const DELIMITER = fc.constantFrom(',', ';', '\t', '|')
const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** The text in an encoding that the import recognises. */
const written = (text: string, encoding: string): Uint8Array => {
  const wide = Buffer.from(text, 'utf16le')
  switch (encoding) {
    case 'utf-16le':
      return wide
    case 'utf-16be':
      return wide.swap16()
    default:
      return Buffer.from(encoding === 'utf-8 with a mark' ? `\ufeff${text}` : text)
  }
}

/** The lines of the header and of all rows and remarks, in one range if none is missing. */
const linesOf = (content: Uint8Array) => {
  const file = openText('x.csv', content, {})
  const header = /columns in lines? (\d+)(?:–(\d+))?/.exec(file.description)!
  const items = [...file.rows()]
  return mergeLines([
    { from: Number(header[1]), to: Number(header[2] ?? header[1]) },
    ...items.flatMap((item) => item.lines),
  ])
}

describe('a whole table', () => {
  const cell = fc.string({
    unit: fc.constantFrom('a', '"', ',', '\n', '\r\n', ' ', 'é', '😀', ';', "'", '\t', '|', '漢'),
    maxLength: 8,
  })

  it('is read as it was written, with each line end and usual delimiter, in UTF-8 and UTF-16', () => {
    const encoding = fc.constantFrom('utf-8', 'utf-8 with a mark', 'utf-16le', 'utf-16be')
    const rows = fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(rows, fc.tuple(END, DELIMITER, encoding), (table, [end, delimiter, encodingName]) => {
        const text = [['alpha', 'beta', 'gamma'], ...table].map((row) => row.map(quoted).join(delimiter) + end).join('')
        const found = [...openText('x.csv', written(text, encodingName), {}).rows()]
        const isBlank = (row: readonly string[]): boolean => row.every((field) => field.trim() === '')
        assert.deepEqual(
          found.map((row) => (isRemark(row) ? row.reasons[0] : Object.values(row.cells))),
          table.map((row) => (isBlank(row) ? 'blank' : row)),
        )
        let line = 2
        for (const [at, row] of table.entries()) {
          const to = line + countBreaks(row.join(' '))
          assert.deepEqual([found[at]!.lines].flat(), [{ from: line, to }])
          line = to + 1
        }
      }),
      seeded({ numRuns: RUNS }),
    )
  })

  it('loses no line, even with broken quotes and delimiters', () => {
    // Commas and line feeds stand twice, to occur more often.
    const piece = fc.constantFrom(
      'a',
      '"',
      '""',
      ',',
      ',',
      '\n',
      '\n',
      '\r\n',
      '\r',
      ' ',
      'é',
      'x,y\n',
      '"q",r\n',
      '\ufeff',
    )
    const text = fc.array(piece, { maxLength: 40 }).map((pieces) => `alpha,beta\n1,2\n${pieces.join('')}`)
    fc.assert(
      fc.property(text, (content) => {
        const all = countBreaks(content) + (/[\r\n]$/.test(content) ? 0 : 1)
        assert.deepEqual(linesOf(Buffer.from(content)), [{ from: 1, to: all }])
      }),
      seeded({ numRuns: RUNS * 3 }),
    )
  })
})
