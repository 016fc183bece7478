import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Case, imported, itImports, type ImportOptions } from './imported.ts'

const MALFORMED = 'malformed quotes: put a cell with quotes in quotes, and double each quote in it'
const SWALLOWS = 'a cell has line breaks and as many delimiters as a row: check where its quote closes'
const described = (...texts: readonly string[]): { description: string }[] =>
  texts.map((description) => ({ description }))

const TABLES: readonly Case[] = [
  [
    'a quote that a later row closes: its lines are refused, the next row is not',
    'title,description\nW-1,"great\nW-2,ok\nW-3,"it broke"\nW-4,good\n',
    { bodies: [{ title: 'W-4', description: 'good' }], refused: [`lines 2–4: ${MALFORMED}`] },
  ],
  [
    'a valid cell that swallows rows is a doubt',
    'title,description,rating\nV-1,"great,4\nV-2,ok,3\nV-3,",2\nV-4,"Well,\nfine, and good",1\n',
    { lines: ['lines 2–4', 'lines 5–6'], doubts: [`lines 2–4: ${SWALLOWS}`] },
  ],
  [
    'a cell that begins with a quoted word, or has a quote inside: only its row is refused',
    'description,title\n"a" b,Q-1\nfine,Q-2\n5" pipe,Q-3\nfine,Q-4\n',
    { lines: ['line 3', 'line 5'], refused: [`line 2: ${MALFORMED}`, `line 4: ${MALFORMED}`] },
  ],
  [
    'a cell such as ="007", in quotes or not, is its text',
    '="title","=""description""",rating\n="007",="a, ""b""",="4"\n"=""008""","=""c""","=""5"""\n=A1&"x",d,3\n',
    {
      bodies: [
        { title: '007', description: 'a, "b"', rating: 4 },
        { title: '008', description: 'c', rating: 5 },
      ],
      refused: [`line 4: ${MALFORMED}`],
    },
  ],
  [
    'backslashes before quotes, as MySQL writes them, if that gives fewer malformed rows',
    'title,description\nA,"He said \\"no, never\\", twice"\nB,"C:\\\\temp\\\\"\nC,"\\"x\\"\\\ny"\nD,"a ""b"" \\n"\n',
    {
      bodies: [
        { title: 'A', description: 'He said "no, never", twice' },
        { title: 'B', description: 'C:\\temp\\' },
        { title: 'C', description: '"x"\ny' },
        { title: 'D', description: 'a "b" \\n' },
      ],
      refused: [],
    },
  ],
  [
    'backslashes at the end of a cell are text if the quotes are well-formed without them',
    'title,description\n"C:\\",a\n"D:\\",b\n',
    {
      bodies: [
        { title: 'C:\\', description: 'a' },
        { title: 'D:\\', description: 'b' },
      ],
      refused: [],
    },
  ],
  [
    'a quote that never closes, before further rows: only its line is refused',
    'description,title\n1,a\n"open,b\n2,c\n3,d\n',
    { lines: ['line 2', 'line 4', 'line 5'], refused: ['line 3: a quote is opened and never closed'] },
  ],
  [
    'a file that ends within a text: no piece of the text becomes a row',
    'title,description\na,1\nb,"Hello, you\nIt broke, again\nThanks, Bob',
    { lines: ['line 2'], refused: ['lines 3–5: a quote is opened and never closed'] },
  ],
  [
    'a header can have a line break and other delimiters',
    'title;"What you like, want,\nor miss";rating\nH-1;"Fast";5\n',
    { bodies: [{ title: 'H-1', description: 'Fast', rating: 5 }], lines: ['line 3'] },
    { map: ['What you like, want,\nor miss=description'] },
  ],
  [
    'the delimiter follows from the rows, even if their texts have more of another',
    'title;description\na;one, two, three\nb;one, two\nc;one, two, three\n',
    { lines: ['line 2', 'line 3', 'line 4'], refused: [] },
  ],
  [
    'the delimiter gives most rows the same number of columns, not the largest number',
    'title;description\na;one, two\nb;one, two\nc;three\nd;four;;more\n',
    { lines: ['line 2', 'line 3', 'line 4'] },
  ],
  [
    'an option gives the delimiter',
    'description:title\na,b:c\n',
    { bodies: [{ description: 'a,b', title: 'c' }] },
    { delimiter: ':' },
  ],
  [
    'a first line of Excel names the delimiter',
    '\ufeffsep=;\r\ndescription;rating\r\nWrong;2\r\n',
    { bodies: [{ description: 'Wrong', rating: 2 }], skipped: ['line 1: names the delimiter'] },
  ],
  [
    'an option leaves out titles above the header',
    'Report of May\n\ndescription,rating\nWrong,2\nRight,5\n',
    { lines: ['line 4', 'line 5'], skipped: ['line 1: left out by --skip-rows', 'line 2: left out by --skip-rows'] },
    { skipRows: '2' },
  ],
  [
    'an option leaves out unknown further header rows',
    'q1,q2\nWhich?,Why?\na,b\n',
    { bodies: described('b'), skipped: ['line 2: left out by --skip-rows'] },
    { skipRows: '2-2', map: ['q2=description'] },
  ],
  [
    'blank rows and rows of white space are skipped',
    'description,rating\nReal,4\n,,\n \t,\u00a0\n\n"",\n  \nLast,1\n',
    { lines: ['line 2', 'line 8'], refused: [], skipped: [3, 4, 5, 6, 7].map((line) => `line ${line}: blank`) },
  ],
  [
    'rows with trailing delimiters are read, and rows that do not fit are refused',
    'description,rating\nA,4,\nB,5,, \nC,1,extra\nD\n',
    {
      bodies: [
        { description: 'A', rating: 4 },
        { description: 'B', rating: 5 },
      ],
      refused: ['line 4: the row has 3 columns, the header 2', 'line 5: the row has 1 columns, the header 2'],
    },
  ],
  [
    'concatenated files can have further byte order marks and a repeated header',
    '\ufeffdescription,title\nFirst,X-1\n\ufeffdescription,title\n\ufeff"Second, too",X-2\n',
    {
      bodies: [
        { description: 'First', title: 'X-1' },
        { description: 'Second, too', title: 'X-2' },
      ],
      skipped: ['line 3: a repeated header'],
    },
  ],
  [
    'a second row of SurveyMonkey names the columns of choices',
    'Respondent ID,Why?,Which?,\n,,Phone,Laptop\n7,Because,,Laptop\n',
    { bodies: [{ description: 'Because', tags: ['Laptop'] }], skipped: ['line 2: a further row of the header'] },
    { map: ['Why?=description', 'Laptop=tags', 'Respondent ID='] },
  ],
]

const RECORDS: readonly Case[] = [
  [
    'elements of an array can share a line',
    '[{"description":"first"},{"description":"second"}]',
    { bodies: described('first', 'second'), lines: ['line 1', 'line 1'] },
    { name: 'x.json' },
  ],
  [
    'elements of an array keep all digits, and have their lines',
    ' \n[{"rating": 1.0, "description": "a]\\\\\\",{"},\n\n {"description":\n"b"} , 5,\n{bad}]\n',
    {
      texts: ['{"rating":1.0,"description":"a]\\\\\\",{"}', '{"description":"b"}'],
      lines: ['line 2', 'lines 4–5'],
      refused: ['line 5: the record is not a JSON object', 'line 6: the record is not JSON'],
    },
    { name: 'x.json' },
  ],
  [
    'lines of JSON are recognised in a file named like an array',
    '{"description":"one"}\n\n{"description":"two"}\nnot json\n',
    { bodies: described('one', 'two'), refused: ['line 4: the record is not JSON'], skipped: ['line 2: blank'] },
    { name: 'x.json' },
  ],
  [
    'an array is recognised in a file named like lines',
    '[{"description":"one"},\n{"description":"two"}]',
    { bodies: described('one', 'two') },
    { name: 'x.ndjson' },
  ],
  [
    'an array is found in its envelope',
    '{"count": 2, "tags": ["[", "x"], "data":\n [{"description":"one"},\n{"description":"two"}], "next": null}',
    { bodies: described('one', 'two'), lines: ['line 2', 'line 3'] },
    { name: 'x.json' },
  ],
  [
    'an object is one record',
    '{\n"description":"one"\n}\n',
    { bodies: described('one'), lines: ['lines 1–3'] },
    { name: 'x.json' },
  ],
  [
    'lines of JSON can have byte order marks, and end at CR, LF or both, but not at U+2028',
    '\ufeff{"description":"a\u2028b"}\r\n\ufeff{"description":"c"}\r[1]\n',
    { bodies: described('a\u2028b', 'c'), refused: ['line 3: the record is not a JSON object'] },
    { name: 'x.ndjson' },
  ],
]

describe('the rows of a file', () => {
  itImports([...TABLES, ...RECORDS])

  const REFUSED: readonly (readonly [name: string, content: string, options: ImportOptions, says: RegExp])[] = [
    ['x.csv', 'Report of May\ndescription,rating\nWrong,2\n', {}, /1 columns in line 1, and no row fits.*--skip-rows/],
    [
      'x.csv',
      'Report of May,,\n,,\ndescription,rating,x\nWrong,2,y\n',
      {},
      /names one of 3 columns in line 1.*--skip-rows/,
    ],
    ['x.csv', '"Report" of May\ndescription,rating\n', {}, /quotes in line 1 are malformed.*--skip-rows/],
    ['x.csv', '', {}, /no header/],
    ['x.csv', ' \n,,\n', {}, /no header/],
    ['x.csv', 'a\n1\n', { skipRows: 'two' }, /--skip-rows must be a number of rows/],
    ['x.csv', 'a\n1\n', { delimiter: '"' }, /--delimiter must be one character/],
    ['x.json', '[{"description":"one"}', {}, /is not complete JSON/],
    ['x.json', '[{"description":"one"}] [2]', {}, /is not complete JSON/],
    ['x.json', '', {}, /is not complete JSON/],
    ['x.json', '{"tickets":[{}],"users":[{}]}', {}, /several arrays: tickets, users/],
  ]
  it('are refused if the file is malformed: the message names the option that helps, if any', () => {
    for (const [name, content, options, says] of REFUSED)
      assert.throws(() => imported(name, content, options), says, content)
  })
})
