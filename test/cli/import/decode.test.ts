import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, it } from 'node:test'
import { imported } from './imported.ts'

/** Texts in Shift_JIS, windows-1251 and other encodings. Each is the description of one row. */
const FOREIGN: readonly (readonly [encoding: string, bytes: readonly number[], text: string])[] = [
  ['shift_jis', [0x8c, 0x9f, 0x8d, 0xf5, 0x82, 0xaa], '検索が'],
  ['windows-1251', [0xcf, 0xee, 0xe8, 0xf1, 0xea], 'Поиск'],
  ['koi8-r', [0xf0, 0xcf, 0xc9, 0xd3, 0xcb], 'Поиск'],
  ['ibm866', [0x8f, 0xae, 0xa8, 0xe1, 0xaa], 'Поиск'],
  ['gb18030', [0xcb, 0xd1, 0xcb, 0xf7], '搜索'],
  ['big5', [0xb7, 0x6a, 0xb4, 0x4d, 0xa5, 0x5c, 0xaf, 0xe0], '搜尋功能'],
  ['euc-kr', [0xb0, 0xcb, 0xbb, 0xf6], '검색'],
  ['euc-jp', [0xb8, 0xa1, 0xba, 0xf7], '検索'],
  ['windows-1253', [0xc1, 0xed, 0xe1, 0xe6], 'Αναζ'],
  ['windows-1255', [0xe7, 0xe9, 0xf4, 0xe5, 0xf9], 'חיפוש'],
  ['windows-1256', [0xc8, 0xcd, 0xcb], 'بحث'],
  ['windows-874', [0xa4, 0xe9, 0xb9], 'ค้น'],
  ['windows-1250', [0x6d, 0x6f, 0xbf, 0x65], 'może'],
  ['windows-1254', [0xe7, 0x61, 0x6c, 0xfd, 0xfe], 'çalış'],
  ['windows-1257', [0xfe, 0x6f, 0x64, 0xeb], 'žodė'],
  ['windows-1250', [0x65, 0x6c, 0xe9, 0x72, 0x68, 0x65, 0x74, 0xf5], 'elérhető'],
  ['iso-8859-15', [0x35, 0xa4], '5€'],
  ['macintosh', [0x63, 0x61, 0x66, 0x8e], 'café'],
]

describe('the encoding of a file', () => {
  const table = (...bytes: readonly number[]): Uint8Array =>
    Buffer.concat([Buffer.from('description,title\n'), Buffer.from(bytes), Buffer.from(',t\n')])
  const wide = (text: string): Buffer => Buffer.from(text, 'utf16le')
  const TEXT = 'description,title\nNo mark – €é,t\n'
  const body = { description: 'No mark – €é', title: 't' }

  it('is recognised by byte order marks, NUL bytes, valid UTF-8, or words of windows-1252', () => {
    const western = Buffer.from(TEXT.replace('–', '\x96').replace('€', '\x80'), 'latin1')
    const written: readonly (readonly [string, Uint8Array])[] = [
      ['utf-8', Buffer.from(TEXT)],
      ['utf-8', Buffer.from(`\ufeff${TEXT}`)],
      ['utf-16le', wide(`\ufeff${TEXT}`)],
      ['utf-16be', wide(`\ufeff${TEXT}`).swap16()],
      ['utf-16le', wide(TEXT)],
      ['utf-16be', wide(TEXT).swap16()],
      ['windows-1252', western],
    ]
    for (const [encoding, content] of written) {
      const found = imported('x.csv', content)
      assert.match(found.plan, new RegExp(`^ {2}${encoding}, separated by commas, columns in line 1$`, 'm'))
      assert.deepEqual(found.bodies, [body], encoding)
    }
    // The low byte of 一 (U+4E00) is NUL, and so is that of the second half of 😀 (DE00). In ASCII the
    // high bytes are NUL.
    for (const text of ['一二一\n一\n一一\n', '😀\n😀😀\n'])
      for (const bytes of [wide(`d\n${text}`), wide(`d\n${text}`).swap16()])
        assert.deepEqual(imported('x.csv', bytes, { map: ['d=description'] }).bodies[1], {
          description: text.split('\n')[1],
        })
    for (const text of [
      'Straße, größer',
      'l’été où ça naît',
      '¿Qué tal el niño? ¡Nº 1!',
      'Smørrebrød på øen',
      'Eg vil òg ha brød',
      '5 m², 20 °C, «déjà»',
    ])
      assert.deepEqual(
        imported('x.csv', Buffer.from(`description;title\n${text.replace('’', '\x92')};t\n`, 'latin1')).bodies,
        [{ description: text, title: 't' }],
      )
  })

  it('has to be named, by any label of the standard, if windows-1252 would make no words', () => {
    for (const [encoding, bytes, text] of FOREIGN) {
      assert.throws(() => imported('x.csv', table(...bytes)), /is not UTF-8: .*line 2 .*offset.*--encoding/, encoding)
      for (const label of [encoding, encoding.toUpperCase(), ` ${encoding} `])
        assert.deepEqual(imported('x.csv', table(...bytes), { encoding: label }).bodies, [
          { description: text, title: 't' },
        ])
    }
    for (const label of ['UTF-8', 'utf8', 'latin1', 'ISO-8859-1', 'sjis', 'cp1251', 'ks_c_5601-1987'])
      assert.deepEqual(imported('x.csv', Buffer.from('description\nx\n'), { encoding: label }).bodies, [
        { description: 'x' },
      ])
    for (const label of ['utf-7', 'klingon', ''])
      assert.throws(() => imported('x.csv', 'a\n1\n', { encoding: label }), /--encoding must be a label/)
  })

  it('does not change because of one wrong byte: the message names its line and offset', () => {
    const damaged = Buffer.concat([
      Buffer.from('description\nGröße\nCut '),
      Buffer.from([0xc3]),
      Buffer.from('\nlast\n'),
    ])
    const apostrophes = Buffer.concat([Buffer.from('description\nit’s\nCut '), Buffer.from([0xc3]), Buffer.from('\n')])
    assert.throws(() => imported('x.csv', apostrophes), /line 3 \(offset 23 of the file\)/)
    const says = /line 3 \(offset 24 of the file\) does not fit/
    assert.throws(() => imported('x.csv', damaged), says)
    assert.throws(() => imported('x.csv', damaged, { encoding: 'utf-8' }), says)
    assert.throws(() => imported('x.csv', Buffer.from([...Buffer.from('description\nCut '), 0xc3])), /offset 16/)
    assert.throws(
      () => imported('x.csv', Buffer.from([...Buffer.from('description\n'), 0x82]), { encoding: 'shift_jis' }),
      /offset 12/,
    )
    assert.throws(() => imported('x.csv', wide('\ufeffdescription\nodd').subarray(0, -1)), /is not utf-16le/)
  })

  it('is refused if the text has a NUL or an escape sequence of another encoding, or the byte order mark of another encoding', () => {
    assert.throws(() => imported('x.csv', `description\n${'text '.repeat(20)}\0\n`), /line 2, .*NUL/)
    assert.throws(() => imported('x.csv', 'description\n\x1b$B8!:w\x1b(B\n'), /iso-2022-jp/)
    assert.throws(() => imported('x.csv', Buffer.from('\ufeffa\n1\n'), { encoding: 'latin1' }), /mark of utf-8/)
  })
})
