import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isNearIdentical, likeness, signatureOf, type Signature } from '../../meaning/near-identical.ts'

const SEED = 7
const signed = (text: string): Signature => signatureOf(text, SEED)!
const hasCommonBand = (a: Signature, b: Signature): boolean => a.bands.some((band) => b.bands.includes(band))

const TEXT = 'Since the last update the app closes by itself when I open the camera, and all my drafts are gone.'

test('case, marks and spaces change nothing', () => {
  assert.deepEqual(signed(TEXT.toUpperCase().replaceAll(',', ' ;')), signed(TEXT))
})

test('an edited copy shares a band and is near-identical', () => {
  for (const copy of [
    TEXT.replace('camera', 'calendar'),
    `Hello, ${TEXT}`,
    `${TEXT} Please help!`,
    TEXT.replace('drafts', 'darfts'),
  ]) {
    assert.ok(hasCommonBand(signed(copy), signed(TEXT)), copy)
    assert.ok(isNearIdentical(signed(copy).marks, signed(TEXT).marks), copy)
  }
  const [japanese, edited] = [
    '昨日からログインできません。助けてください。',
    '昨日からログインできません。助けて下さい!',
  ]
  assert.ok(isNearIdentical(signed(japanese).marks, signed(edited).marks))
})

test('another text is not near-identical, even with half of the words', () => {
  const other = signed('Since the last update the app is much faster when I start it, and my battery lasts all day.')
  assert.ok(!isNearIdentical(other.marks, signed(TEXT).marks))
  assert.ok(likeness(signed('Wo finde ich die Rechnung?').marks, signed(TEXT).marks) < 0.1)
})

test('the seed decides: without it, the numbers of a text cannot be found', () => {
  const other = signatureOf(TEXT, SEED + 1)!
  assert.ok(!hasCommonBand(other, signed(TEXT)))
  assert.ok(likeness(other.marks, signed(TEXT).marks) < 0.1)
})

test('a text without letters has no signature, and any text has one of a fixed size', () => {
  assert.equal(signatureOf(' !? ', SEED), undefined)
  for (const text of ['a', TEXT.repeat(1_000), '\ud800x', 'é'.repeat(9_000)]) {
    const { bands, marks } = signed(text)
    assert.equal(bands.length, 8)
    assert.equal(marks.length, 64)
    assert.ok(bands.every((band) => Number.isSafeInteger(band)))
  }
})
