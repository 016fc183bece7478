import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { generateTags, TAGGER_VERSION } from '../../../worker/tags/generate-tags.ts'

test('the version is a positive integer', () => {
  assert.ok(Number.isInteger(TAGGER_VERSION) && TAGGER_VERSION > 0)
})

const expected: Record<string, string[]> = {
  'Please add dark mode to the mobile app': ['mobile app', 'dark mode'],
  'Card declined at checkout': ['card', 'checkout'],
  'The batteries died. The battery is bad.': ['battery'],
  'The charge was wrong, they charge a lot': ['charge'],
  'THE DELIVERY WAS LATE': ['delivery'],
  '<p>The <b>export button</b> &amp; the invoices</p><script>the dashboard</script>': ['export button', 'invoice'],
  'La aplicación se cierra y el pago no funciona': ['aplicación', 'pago'],
  "L’application plante et la facture n'est pas bonne": ['application', 'facture'],
  'Die Rechnung ist falsch und der Export geht nicht': ['rechnung', 'export'],
  'O aplicativo trava e a fatura está errada': ['aplicativo', 'fatura'],
  "L'applicazione non va e la fattura è sbagliata": ['applicazione', 'fattura'],
  'De bestelling is te laat en de factuur klopt niet': ['bestelling', 'factuur'],
  应用程序闪退支付失败支付页面打不开: ['支付'],
}
for (const [text, tags] of Object.entries(expected)) {
  test(`tags of: ${text}`, () => {
    assert.deepEqual(generateTags(text), tags)
  })
}

const noise = [
  '',
  '   ',
  'ok',
  'Thanks!',
  'asdf asdf qwer',
  'aaaa bbbb',
  '1234',
  '😀😀',
  '<p></p>',
  '\u0000\ud800',
  '<<<<',
  'the of and',
]
for (const text of noise) {
  test(`no tags for noise: ${JSON.stringify(text)}`, () => {
    assert.deepEqual(generateTags(text), [])
  })
}

test('no tags for languages without a lexicon', () => {
  assert.deepEqual(generateTags('Приложение постоянно вылетает при загрузке'), [])
  assert.deepEqual(generateTags('التطبيق يتعطل عند الدفع'), [])
  assert.deepEqual(generateTags('Uygulama sürekli çöküyor ve fatura yanlış geliyor, bir türlü düzelmedi'), [])
})

test('no tag is inside another', () => {
  const tags = generateTags('The battery is weak. The battery life, the battery life is short.')
  assert.deepEqual(tags, ['battery life'])
})

test('nothing personal becomes a tag', () => {
  const text = `Dear Tolvane, my name is brisel quonk (brisel.quonk@mail.example, @quonky, +49 30 1234567).
    The invoice for Marvane Industries went to GB29 NWBK 6016 1331 9268 19 and card 4111 1111 1111 1111; see
    https://mail.example/quonk and 550e8400-e29b-41d4-a716-446655440000. Kind regards, quonk`
  const tags = generateTags(text)
  assert.ok(tags.includes('invoice'))
  assert.doesNotMatch(tags.join(' '), /tolvane|brisel|quonk|marvane|industries|example|nwbk|\d/)
})

test('whatever the text, tags are few, short, lower case, distinct, and without signs of an address', () => {
  const words = fc.constantFrom(
    'the',
    'screen',
    'Battery',
    'life',
    'a@b.c',
    '12',
    '<b>',
    '&lt;',
    '\n',
    '。',
    '支付',
    'é',
    "l'",
    '-',
  )
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(words).map((list) => list.join(' ')),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const tags = generateTags(text)
      assert.ok(tags.length <= 5)
      assert.equal(new Set(tags).size, tags.length)
      for (const tag of tags) assert.match(tag, /^(?!.*\p{Lu})[^@:\\/_<>&\n]{1,48}$/u)
    }),
  )
})

/** Ten times what the slowest takes on the machine where this was written, and far below quadratic time. */
const MAX_MILLISECONDS = 500
const size = 200_000
const hostile: Record<string, string> = {
  digits: '1'.repeat(size),
  'spaced digits': '1 '.repeat(size / 2),
  'one letter': 'a'.repeat(size),
  'letters and mail signs': 'a.a.a.@'.repeat(size / 7),
  'open brackets': '<'.repeat(size),
  'nested elements': '<div>'.repeat(size / 5),
  'open attributes': '<a b="'.repeat(size / 6),
  ampersands: '&'.repeat(size),
  'piled marks': `a${'\u0301\u0316'.repeat(size / 2)}`,
  'expanding characters': '\ufdfa'.repeat(size),
  'letters without spaces': '漢'.repeat(size),
  'mixed scripts': 'a漢'.repeat(size / 2),
  'one phrase': 'the export '.repeat(size / 11),
  'capitalised words': 'Anna '.repeat(size / 5),
}
for (const [what, text] of Object.entries(hostile)) {
  test(`linear time: ${what}`, () => {
    const before = performance.now()
    generateTags(text)
    const milliseconds = performance.now() - before
    assert.ok(milliseconds < MAX_MILLISECONDS, `${milliseconds} ms`)
  })
}
