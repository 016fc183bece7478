import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { imported, type ImportOptions } from './imported.ts'

const csv = (rows: readonly (readonly string[])[]): string =>
  rows.map((row) => `${row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\n`).join('')

/** The fields that each cell of the column gives. Each row also has a description. */
const valuesOf = (column: string, cells: readonly string[], options: ImportOptions = {}): unknown[] =>
  imported('x.csv', csv([['description', column], ...cells.map((cell) => ['x', cell])]), options).bodies.map((body) => {
    const { description: _, ...rest } = body as { description: string }
    return rest
  })

describe('cells', () => {
  const CASES: readonly (readonly [
    title: string,
    column: string,
    options: ImportOptions,
    cells: readonly (readonly [string, unknown])[],
  ])[] = [
    [
      'are numbers only in decimal digits, also with an exponent; an empty cell or a placeholder such as N/A is no number',
      'rating',
      {},
      [
        ['4', { rating: 4 }],
        [' 4.50 ', { rating: 4.5 }],
        ['-.5', { rating: -0.5 }],
        ['+07', { rating: 7 }],
        ['0', { rating: 0 }],
        ['1e3', { rating: 1_000 }],
        ['1e+15', { rating: 1e15 }],
        ['-2.5E-1', { rating: -0.25 }],
        ['="4"', { rating: 4 }],
        ["'4.5", { rating: 4.5 }],
        ['"3"', { rating: 3 }],
        ...['', ' ', 'null', 'NULL', 'N/A', '-', 'undefined', 'nan', '\\N', '#DIV/0!', '(none)'].map(
          (cell) => [cell, {}] as const,
        ),
        ...['0x10', '1e', 'e3', '(5)', '0b11', '4,5', '4/5', 'Infinity', '５', 'true'].map(
          (cell) => [cell, { rating: cell }] as const,
        ),
      ],
    ],
    [
      'are trimmed ids; an empty cell or a placeholder such as N/A is no id',
      'sourceId',
      {},
      [
        ['T-1\u00a0', { sourceId: 'T-1' }],
        ['007', { sourceId: '007' }],
        ...['="007"', '"007"', "'007", "'007'", `'="007"`].map((cell) => [cell, { sourceId: '007' }] as const),
        ["'@18", { sourceId: '@18' }],
        ['<4711@mail.example>', { sourceId: '<4711@mail.example>' }],
        ...['', ' ', 'null', 'undefined', 'None', 'n/a', '\u200b', '0', '\\N', '#N/A', '{{id}}', "'-"].map(
          (cell) => [cell, {}] as const,
        ),
      ],
    ],
    [
      'are flags in upper or lower case',
      'isTranscript',
      {},
      [
        ...['true', 'Yes', 'y', 'Y', '1'].map((cell) => [cell, { isTranscript: true }] as const),
        ...['FALSE', 'no', 'n', '0'].map((cell) => [cell, { isTranscript: false }] as const),
        ['?', { isTranscript: '?' }],
      ],
    ],
    [
      'are tags, split at the first of | ; , that occurs, or an array of JSON',
      'tags',
      {},
      [
        ['a, b,', { tags: ['a', 'b'] }],
        ['a;b', { tags: ['a', 'b'] }],
        ['dark mode| y', { tags: ['dark mode', 'y'] }],
        ['Doe, John; Roe, Jane', { tags: ['Doe, John', 'Roe, Jane'] }],
        ['["a, b","c"]', { tags: ['a, b', 'c'] }],
      ],
    ],
    [
      'are tags, split at the requested separator',
      'Labels',
      { map: ['labels=tags:spaces'] },
      [['a b', { tags: ['a', 'b'] }]],
    ],
    [
      'are times with an offset, in several forms; other texts stay',
      'createdAt',
      {},
      [
        ...['2024-03-31T02:30:00Z', '2024-03-31 02:30:00 UTC', '2024-03-31T02:30Z', '2024-03-31 02:30 gmt'].map(
          (cell) => [cell, { createdAt: '2024-03-31T02:30:00Z' }] as const,
        ),
        ...['2024-03-31 02:30:00+00', '2024-03-31T02:30:00 +0000', '2024-03-31 02:30 UTC+00:00'].map(
          (cell) => [cell, { createdAt: '2024-03-31T02:30:00+00:00' }] as const,
        ),
        [' 1711852200 ', { createdAt: '2024-03-31T02:30:00Z' }],
        ['1711852200123', { createdAt: '2024-03-31T02:30:00.123Z' }],
        ['1711852200123456', { createdAt: '2024-03-31T02:30:00.123456Z' }],
        ['1711852200.25', { createdAt: '2024-03-31T02:30:00.25Z' }],
        ...['N/A', '\\N', '-'].map((cell) => [cell, {}] as const),
        ['2024-03-31T02:30:00,25-0130', { createdAt: '2024-03-31T02:30:00.25-01:30' }],
        ...[
          '2024-03-31',
          '2024-03-31 02:30:00',
          '31/03/2024',
          '2024-03-31Z',
          '20240331',
          '20240331023000',
          '1.71E+09',
        ].map((cell) => [cell, { createdAt: cell }] as const),
      ],
    ],
    [
      'are times without an offset, and days, with the option --utc',
      'createdAt',
      { utc: true },
      [
        ['2024-03-31', { createdAt: '2024-03-31T00:00:00Z' }],
        ['2024-03-31 02:30', { createdAt: '2024-03-31T02:30:00Z' }],
        ['2024-03-31 02:30:00+02', { createdAt: '2024-03-31T02:30:00+02:00' }],
      ],
    ],
    [
      'have the values that --map-value gives them',
      'rating',
      { 'map-value': ['rating Good=5'] },
      [[' Good ', { rating: 5 }]],
    ],
    [
      'are objects of JSON',
      'meta',
      { map: ['meta=sourceData'] },
      [
        ['{"a":{"b":[1.50]}}', { sourceData: { a: { b: [1.5] } } }],
        ['{a}', { sourceData: '{a}' }],
      ],
    ],
    [
      'fill several fields, and metadata of any name',
      'Person',
      { map: ['Person=contact.email', 'Person=sourceData.__proto__'] },
      [
        [
          'a@b.example',
          { contact: { email: 'a@b.example' }, sourceData: Object.fromEntries([['__proto__', 'a@b.example']]) },
        ],
      ],
    ],
  ]
  for (const [title, column, options, cells] of CASES)
    it(title, () => {
      assert.deepEqual(
        valuesOf(
          column,
          cells.map(([cell]) => cell),
          options,
        ),
        cells.map(([, value]) => value),
      )
    })
})
