import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { analyse } from '../../tagger/generate-tags.ts'
import { MAX_HTML_CHARACTERS } from '../../tagger/reduce-html.ts'
import { seeded } from '../support/property-seed.ts'

/**
 * The most processor time of an odd text, relative to a plain one of the same length. A quadratic
 * step would take thousands of times as long.
 */
const MOST_TIMES_AS_LONG = 40
const LOOKS = 3
const TEXTS = 40

/** Texts that separate, nest, repeat or have many forms. */
const PIECES = [
  '\u2029',
  '\u2028',
  '\n',
  '\r\n',
  '\t',
  ' ',
  '\u00a0',
  '\u200b',
  '\u200d',
  '\ufeff',
  '.',
  '!',
  '?',
  ',',
  ';',
  '-',
  '--\n',
  '<b>',
  '</b>',
  '<p>',
  '<script>',
  '<',
  '>',
  '<!--',
  '&',
  '&amp;',
  '&#x41;',
  'a',
  'A',
  'é',
  'e\u0301',
  'ß',
  'ж',
  '日',
  '👍',
  '\ud83d',
  "'",
  '’',
  '"',
  '(',
  '@',
  'x@y.example',
  'https://x.example',
  '#1',
  '0',
  '1.5',
  'export ',
  'hi ',
  'thanks ',
  'Ada Byron ',
  'the ',
]

describe('the work for a text', () => {
  const plain = 'exports of large files fail with an error after a minute. '.repeat(MAX_HTML_CHARACTERS)
  const millisecondsOf = (text: string): number => {
    let least = Infinity
    for (let look = 0; look < LOOKS; look++) {
      const beganAt = performance.now()
      analyse(text)
      least = Math.min(least, performance.now() - beganAt)
    }
    return least
  }

  it('is proportional to its length, for any content', () => {
    const ordinary = millisecondsOf(plain.slice(0, MAX_HTML_CHARACTERS))
    const parts = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(parts, (pieces) => {
        const piece = pieces.join('')
        const text = piece.repeat(Math.ceil(MAX_HTML_CHARACTERS / piece.length))
        const times = millisecondsOf(text) / ordinary
        assert.ok(times < MOST_TIMES_AS_LONG, `${JSON.stringify(piece)} takes ${times.toFixed(0)} times as long`)
      }),
      seeded({ numRuns: TEXTS, examples: [[['\u2029']], [['a', '\u2029']], [['<b>', '\u2029']]] }),
    )
  })
})
