import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  canonicalDomain,
  canonicalEmail,
  canonicalName,
  isPlaceholder,
  PLACEHOLDERS,
} from '../../../contract/identity/keys.ts'
import { MAX_IDENTIFIER_CHARACTERS } from '../../../contract/limits.ts'
import { seeded } from '../../support/property-seed.ts'

type Canonical = (given: string) => string | undefined

/** Validation reports all problems, so it also computes the forms of texts that are too long. */
const LONG_REPEATS = 100_000

/** Texts by their canonical form. */
const FORMS: readonly [string, Canonical, Record<string, readonly string[]>][] = [
  [
    'an email',
    canonicalEmail,
    {
      'kate@x.example': [
        'kate@x.example',
        ' Kate@X.example\u00a0',
        'kate@x.example\u200b',
        '\u200fkate@x.example',
        'ka\u00adte@x.example',
        'Kate <kate@x.example>',
        '"Kate <the first>" <KATE@x.example> \u200b',
        '<kate@x.example>',
        'mailto:kate@x.example',
        'MailTo: Kate@x.example',
        'Kate <mailto:kate@x.example>',
        'Kate < kate@x.example >',
      ],
      'ren\u00e9@x.example': ['ren\u00e9@x.example', 'rene\u0301@x.example', 'RENe\u0301@x.example'],
      'user-7': ['user-7', ' user-7 ', 'user\u200d-7', 'User <user-7>'],
      'USER-7': ['USER-7'],
      // Only the case of ASCII letters is folded, so the KELVIN SIGN does not become the k of
      // kate@.
      'Kate@x.example': ['\u212aate@x.example'],
      '\u0130sil@x.example': ['\u0130sil@x.example', '\u0130SIL@x.example'],
      'kate <kate@x.example': ['Kate <kate@x.example'],
    },
  ],
  [
    'a name',
    canonicalName,
    {
      'Soci\u00e9t\u00e9 A': [
        'Soci\u00e9t\u00e9 A',
        'Socie\u0301te\u0301 A',
        'Soci\u00e9t\u00e9  A ',
        '\u00a0Soci\u00e9t\u00e9\t\n\u3000A',
        '\ufeffSoci\u00e9t\u200be\u0301 A',
      ],
      'soci\u00e9t\u00e9 a': ['soci\u00e9t\u00e9 a'],
      'https://www.acme.example/': ['https://www.acme.example/'],
    },
  ],
  [
    'a domain',
    canonicalDomain,
    {
      'acme.example': [
        'acme.example',
        ' ACME.Example. ',
        'www.acme.example',
        'WWW.ACME.example',
        'http://acme.example',
        'HTTPS://www.acme.example./pricing?a=b#c',
        'https://acme.example:8443',
        'https://kate:secret@acme.example/',
        'acme.example/about',
        'acme.example?utm=1',
        'acme.example:80/',
        'acme\u200b.example',
      ],
      'b\u00fccher.example': ['b\u00fccher.example', 'bu\u0308cher.example', 'https://B\u00fccher.example'],
      intranet: ['intranet', 'http://intranet', 'https://intranet:8080/wiki', 'intranet.', 'intranet\u200b'],
      Intranet: ['Intranet', 'http://Intranet/'],
      'Sales/EU': ['Sales/EU'],
      'kate@acme.example': ['kate@acme.example'],
    },
  ],
]

for (const [kind, canonical, forms] of FORMS) {
  describe(`the canonical form of ${kind}`, () => {
    for (const [expected, given] of Object.entries(forms)) {
      it(`is ${JSON.stringify(expected)} for all its forms`, () => {
        for (const form of given) assert.equal(canonical(form), expected, JSON.stringify(form))
      })
    }

    it('is absent for blank texts and placeholders, in lower and upper case and with invisible characters around them', () => {
      for (const placeholder of ['', ...PLACEHOLDERS]) {
        for (const form of [placeholder, placeholder.toUpperCase(), ` ${placeholder}\u00a0`, `\u200b${placeholder}`]) {
          assert.equal(canonical(form), undefined, JSON.stringify(form))
        }
      }
    })

    it('is its own canonical form', () => {
      fc.assert(
        fc.property(texts, (given) => {
          const once = canonical(given)
          // NFC turns the KELVIN SIGN into a K, which is a k the second time. NFC makes no other
          // character an ASCII letter.
          if (once === undefined || given.includes('\u212a')) return
          assert.equal(canonical(once), once)
        }),
        seeded({ numRuns: 300 }),
      )
    })

    it('is computed in linear time: quadratic time would exceed the time of a test', () => {
      for (const part of ['<', '<a>', ' ', '<a> ', 'mailto:', 'www.', '.', ':', '@', '/', '\u200b', '\u0301', '?']) {
        const text = part.repeat(LONG_REPEATS)
        for (const given of [text, `${text}x`, `x${text}`, `http://${text}`]) canonical(given)
      }
    })
  })
}

describe('a key', () => {
  it('is absent if its canonical form is blank or a placeholder', () => {
    assert.equal(canonicalEmail('No name <N/A>'), undefined)
    assert.equal(canonicalEmail('mailto:undefined'), undefined)
    assert.equal(canonicalEmail('Kate <>'), undefined)
    assert.equal(canonicalDomain('https://unknown/'), undefined)
    assert.equal(canonicalDomain('http://'), undefined)
    assert.equal(canonicalDomain('...'), undefined)
    assert.equal(canonicalName('[object\u00a0object]'), undefined)
  })

  it('is not a placeholder if a placeholder is only a part of it', () => {
    for (const text of ['nullam', '00', 'none@x.example', 'a-', 'Guest House', '?!', 'null'.repeat(150)]) {
      assert.equal(isPlaceholder(text), false, text)
    }
  })
})

/** Texts from the characters that matter for the forms, and random texts. */
const texts = fc.oneof(
  fc
    .array(
      fc.oneof(
        fc.constantFrom('<', '>', '@', '.', 'www.', 'http://', 'HTTPS://', 'mailto:', ' ', '\u00a0', '\u200b', '/'),
        fc.constantFrom(':', '80', '?', '#', 'e\u0301', '\u00c9', 'A\u030a', 'Kate', 'x.example', '\u0301', '\u212b'),
        fc.string({ unit: 'binary', maxLength: 3 }),
      ),
      { maxLength: 12 },
    )
    .map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: MAX_IDENTIFIER_CHARACTERS }),
)
