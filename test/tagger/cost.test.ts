import assert from 'node:assert/strict'
import process from 'node:process'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { analyse } from '../../tagger/generate-tags.ts'
import { MAX_HTML_CHARACTERS } from '../../runtime/reduce-html.ts'
import { seeded } from '../support/property-seed.ts'

/**
 * The most processor time of an odd text, relative to a plain text of the same length. A quadratic
 * step would take thousands of times as long.
 */
const MOST_TIMES_AS_LONG = 40
const LOOKS = 3
const TEXTS = process.env['TEST_SIZE'] === 'long' ? 400 : 20

/** Characters and words that separate, nest, repeat or have many forms. */
const CHARACTERS = '\u2029\u2028\n\r\t \u00a0\u200b\u200d\ufeff.!?,;-<>&\'"’(@01aAéßж日漢👍\u0301\ufdfa\ud83d'.split('')
const WORDS =
  '</b> <p> <script> <a_b=" &amp; &#x41; e\u0301 x@y.example a.a.@ https://x.example #1 1.5 export hi thanks Ada the'
const PIECES = [
  ...CHARACTERS,
  ...WORDS.split(' ').map((word) => word.replace('_', ' ')),
  '--\n',
  'the export ',
  'Anna ',
]
/** Pieces that are slow to read with careless code. */
const EXAMPLES = [['\u2029'], ['a', '\u2029'], ['<b>', '\u2029'], ['<'], ['<!--'], ['<div>'], ['1'], ['1', ' '], ['漢']]

describe('the work for a text', () => {
  const plain = 'exports of large files fail with an error after a minute. '.repeat(MAX_HTML_CHARACTERS)
  const spentOn = (text: string): number => {
    let least = Infinity
    for (let look = 0; look < LOOKS; look++) {
      const former = process.cpuUsage()
      analyse(text)
      const { user, system } = process.cpuUsage(former)
      least = Math.min(least, user + system)
    }
    return least
  }

  it(`is at most ${MOST_TIMES_AS_LONG} times that for a plain text of the same length`, () => {
    const ordinary = spentOn(plain.slice(0, MAX_HTML_CHARACTERS))
    const parts = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(parts, (pieces) => {
        const piece = pieces.join('')
        const text = piece.repeat(Math.ceil(MAX_HTML_CHARACTERS / piece.length))
        const times = spentOn(text) / ordinary
        assert.ok(times < MOST_TIMES_AS_LONG, `${JSON.stringify(piece)} takes ${times.toFixed(0)} times as long`)
      }),
      seeded({ numRuns: TEXTS, examples: EXAMPLES.map((pieces): [string[]] => [pieces]) }),
    )
  })
})
