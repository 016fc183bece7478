import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analyse, unhideWorkspaceWords } from '../../tagger/generate-tags.ts'
import type { Analysis } from '../../tagger/generate-tags.ts'
import { learn } from '../../tagger/learn.ts'
import { addDelta, newMemory } from '../../tagger/memory.ts'
import { tagTexts } from '../../tagger/tag-texts.ts'

const shown = (analysis: Analysis): string => {
  return analysis.reading.tokens
    .map((token) => (token.kind === 'hidden' ? '*' : token.kind === 'break' ? '|' : token.text))
    .join(' ')
}

const hidden: Record<string, string> = {
  'I met Tolvane and Mark Tolvane at the desk': 'i met * and * * at the desk',
  'dear tolvane, my name is brisel quonk': 'dear * | my name is * *',
  'the invoice was late. kind regards,\ntolvane': 'the invoice was late',
  'the invoice was late. regards,\ntolvane': 'the invoice was late | regards | | *',
  'die Rechnung von Herrn Tolvane': 'die rechnung von herrn *',
  'die Rechnung ist von Tolvane und der Export': 'die rechnung ist von * und der export',
  'THE INVOICE IS FROM TOLVANE AGAIN': 'the invoice is from * again',
  田中さんの決済: '* さん の 決済',
  'Меня зовут Тольван Бризель, заказ не пришел': 'меня зовут * * | заказ не пришел',
}
for (const [text, tokens] of Object.entries(hidden)) {
  test(`the tagger hides possible names: ${text}`, () => {
    assert.equal(shown(analyse(text)), tokens)
  })
}

test('a capitalised word is not hidden if it is known, or if the text has it in lower case, too', () => {
  const text = 'The Invoice and my Flurbs, these flurbs'
  assert.equal(shown(analyse(text)), 'the invoice and my flurbs | these flurbs')
})

test('a capitalised word is shown once people have used it in a tag', () => {
  const text = 'We run it on a Flurbo and Quonk is fine'
  const memory = newMemory()
  assert.ok(!shown(unhideWorkspaceWords(analyse(text), memory)).includes('flurbo'))
  addDelta(memory, learn(analyse('It is for the Quonk'), ['quonk']))
  assert.ok(shown(unhideWorkspaceWords(analyse(text), memory)).includes('quonk'))
  addDelta(memory, learn(analyse('It is for the Flurbo'), ['flurbo export']))
  assert.ok(shown(unhideWorkspaceWords(analyse(text), memory)).includes('flurbo'))
  assert.deepEqual(tagTexts(memory, [{ text }]).tags, [['quonk']])
})

test('a capitalised word is shown once several texts have it after a determiner, which is rare for names', () => {
  const memory = newMemory()
  for (const text of [
    'I like the Flurbo',
    'our Flurbo broke',
    'this Flurbo',
    'a Flurbo is late',
    'Quonk',
    'Quonk said so',
  ]) {
    addDelta(memory, learn(analyse(text)))
  }
  for (let time = 0; time < 4; time++) addDelta(memory, learn(analyse('I met Quonk yesterday')))
  assert.equal(shown(unhideWorkspaceWords(analyse('we met Flurbo and Quonk'), memory)), 'we met flurbo and *')
})
