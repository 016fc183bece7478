import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findLexicon } from '../../../worker/tags/lexicon.ts'
import { hideNames } from '../../../worker/tags/names.ts'
import { tokenize } from '../../../worker/tags/tokens.ts'

function shown(text: string): string {
  const tokens = tokenize(text)
  const lexicon = findLexicon(tokens)
  assert.ok(lexicon)
  return hideNames(tokens, lexicon)
    .map((token) => (token.kind === 'hidden' ? '*' : token.kind === 'break' ? '|' : token.text))
    .join(' ')
}

test('hides capitalised words that nothing knows, and common words beside them', () => {
  assert.equal(shown('I met Tolvane and Mark Tolvane at the desk'), 'i met * and * * at the desk')
})

test('keeps a capitalised word that a list or the same text knows', () => {
  assert.equal(shown('The Invoice and my Flurbs, these flurbs'), 'the invoice and my flurbs | these flurbs')
})

test('hides two words after a greeting, a title, a closing, or "my name is", capitalised or not', () => {
  assert.equal(shown('dear tolvane, my name is brisel quonk'), 'dear * | my name is * *')
  assert.equal(shown('the invoice was late. kind regards,\ntolvane'), 'the invoice was late | kind regards | | *')
  assert.equal(shown('die Rechnung von Herrn Tolvane'), 'die rechnung von herrn *')
})

test('in German a capitalised word after an article is a noun', () => {
  assert.equal(shown('die Rechnung ist von Tolvane und der Export'), 'die rechnung ist von * und der export')
})

test('hides what stands before an honorific in scripts without capitals', () => {
  assert.equal(shown('田中さんの決済'), '* さん の 決済')
})
