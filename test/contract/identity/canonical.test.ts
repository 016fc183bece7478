import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { canonicalDomain, canonicalEmail, canonicalName, hasEmail } from '../../../contract/identity/keys.ts'
import { isAddress, isPlaceholder, PLACEHOLDER_WORDS } from '../../../contract/identity/placeholders.ts'
import { MAX_IDENTIFIER_CHARACTERS } from '../../../contract/limits.ts'
import { domainKey, emailKey, emailText, nameKey, standsForNothing } from '../../model/plain-keys.ts'
import { seeded } from '../../support/property-seed.ts'

type Canonical = (given: string) => string | undefined

/** Parts of the marks of templates. */
const MARKS = [
  '(',
  '(a',
  ')',
  '[',
  '{',
  '{a',
  '{a}',
  '}',
  '${',
  '%',
  '%a',
  '#',
  '#a',
  '##a',
  '*|',
  '*|a',
  '|*',
  '<a@b>',
  '\\',
]

/** Validation reports all problems, so it also computes the forms of texts that are too long. */
const LONG_REPEATS = 100_000

/** Texts that stand for nothing, by the rule that says so. */
const NOTHING: Readonly<Record<string, readonly string[]>> = {
  'a text without letters and digits': ['', ' ', '-', '--', '?', '.', '…', '—', '\u200b', '***', '@', '🤷', '{}', '<>'],
  'the null of a database': ['\\N', '\\\\N', '\\n'],
  'a text in brackets': ['(null)', '(blank)', '[NULL]', '<null>', '<NA>', '{id}', '[object Object]', '((none given))'],
  'a text in marks of templates': [
    '{{ticket.requester.email}}',
    '{{ user.id }}',
    '${email}',
    '%EMAIL%',
    '%recipient.email%',
    '#email#',
    '##email##',
    '*|EMAIL|*',
    '{{org.id}}-{{user.id}}',
    '{{#if name}}{{name}}{{/if}}',
    '%FIRST% %LAST%',
  ],
  'an error of a spreadsheet': ['#N/A', '#REF!', '#VALUE!', '#NAME?', '#DIV/0!', '#NULL!', '#NUM!', '#ЗНАЧ!', '#Н/A'],
  'a word for nothing': [...PLACEHOLDER_WORDS, 'not\u00a0provided', 'NaN', 'NaT', 'N.A.', 'Missing'],
}
const ALL_NOTHING = Object.values(NOTHING).flat()

/** Texts that are values, although they look like some of those above. */
const SOMETHING = [
  'nullam',
  '00',
  'none@x.example',
  'a-',
  'Guest House',
  '1?',
  'null'.repeat(150),
  '(a) and (b)',
  '[EU] Sales',
  '<b>Acme</b>',
  'Acme (Berlin)',
  '#123',
  '#1!',
  'C#',
  '100% of 20%',
  '50%',
  '\\Network\\N',
  '{a',
  'a}',
  '{{a}} b',
  '<4711@mail.example.org>',
  '{4F6B0F0E-8f0a-4b61-9d0b-3f3c1f2f9b77}',
]

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
      'user-7@intranet': ['user-7@intranet', ' USER-7@intranet ', 'user\u200d-7@intranet', 'User <user-7@intranet>'],
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

    it('is absent for texts that stand for nothing, in lower and upper case and with invisible characters around them', () => {
      for (const placeholder of ALL_NOTHING) {
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
      for (const part of [
        '<',
        '<a>',
        ' ',
        '<a> ',
        'mailto:',
        'www.',
        '.',
        ':',
        '@',
        '/',
        '\u200b',
        '\u0301',
        '?',
        ...MARKS,
      ]) {
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

  for (const [rule, given] of Object.entries(NOTHING)) {
    it(`is absent for ${rule}`, () => {
      for (const text of given) {
        assert.equal(isPlaceholder(text), true, text)
        assert.equal(isPlaceholder(` \u200b${text} `), true, text)
      }
    })
  }

  it('is no placeholder if a placeholder is only a part of it, or if the brackets hold an address or a UUID', () => {
    for (const text of SOMETHING) assert.equal(isPlaceholder(text), false, text)
  })

  it('is an email only if it is an address: one @ between two texts that are no placeholders', () => {
    for (const text of ['x', 'keine', 'no email', 'user-7', 'null@null', 'undefined@undefined', 'guest@x.example'])
      assert.deepEqual([canonicalEmail(text), hasEmail(text)], [undefined, true], text)
    for (const text of ['{{user}}@x.example', 'kate@{{domain}}', '@kate', 'kate@', 'a@b@x.example', 'Kate <kate>'])
      assert.deepEqual([canonicalEmail(text), hasEmail(text)], [undefined, true], text)
    for (const text of ALL_NOTHING) assert.equal(hasEmail(text), false, text)
    assert.equal(isAddress('kate@x.example'), true)
  })

  it('has the same canonical form by a second implementation of the rules', () => {
    const drawn = fc.oneof(
      texts,
      fc.array(fc.constantFrom(...PIECES), { maxLength: 6 }).map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(drawn, (given) => {
        assert.equal(isPlaceholder(given), standsForNothing(given))
        assert.equal(canonicalEmail(given), emailKey(given))
        assert.equal(hasEmail(given), emailText(given) !== undefined)
        assert.equal(canonicalName(given), nameKey(given))
        assert.equal(canonicalDomain(given), domainKey(given))
      }),
      seeded({ numRuns: 1_000 }),
    )
  })
})

const PIECES = [...MARKS, ...ALL_NOTHING, ...SOMETHING, 'a', '7', ' ', '@', '@x.example', '!', '/A', 'http://', '-']

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
