import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENGLISH, LATIN } from '../../tagger/lexicon.ts'
import { subjectOf, subjectWords } from '../../tagger/subject.ts'

const same = (a: string, b: string): void => assert.deepEqual(subjectWords(a), subjectWords(b), `${a}, ${b}`)

test('words of one meaning, and forms of a word, are one subject', () => {
  same('luggage', 'bags')
  same('cellphone', 'Phone')
  same('export', 'exports')
})

test('general words, and words between others, are no part of a subject', () => {
  for (const title of ['option', 'options', 'kind of thing', '']) assert.deepEqual(subjectWords(title), [], title)
  assert.deepEqual(subjectWords('delivery time'), subjectWords('delivery'))
  assert.deepEqual(subjectWords('tarjeta de crédito'), ['tarjeta', 'crédito'])
})

test('a plain tag is one word from the list of common topics', () => {
  const isPlain = (title: string): boolean => subjectOf(title, ENGLISH).isPlain
  assert.deepEqual([isPlain('delivery'), isPlain('delivery time'), isPlain('ataraxy')], [true, false, false])
  const spanish = LATIN.find(({ language }) => language === 'es')!
  assert.ok(subjectOf('tarjeta', spanish).isPlain)
})
