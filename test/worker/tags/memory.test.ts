import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { analyse, generateTags } from '../../../worker/tags/generate-tags.ts'
import { learn, learnGenerated, MAX_LEARNED_TERMS } from '../../../worker/tags/learn.ts'
import { apply, decay, MAX_TERMS, newMemory, titleInUse } from '../../../worker/tags/memory.ts'
import type { Memory } from '../../../worker/tags/memory.ts'
import { tagBatch } from '../../../worker/tags/tag-batch.ts'
import { seeded } from '../../support/property-seed.ts'

const texts = [
  'The scroll wheel is great, but the battery life is short.',
  'Battery life could be better. I love the scroll wheel!',
  'The export to CSV fails and Tolvane does not answer.',
  'la factura llega tarde',
]

test('what one text has added can be taken out again, whatever came before and after', () => {
  const text = fc.record({
    text: fc.constantFrom(...texts),
    tags: fc.option(fc.array(fc.constantFrom('wheel', 'csv export', 'Battery'))),
  })
  fc.assert(
    fc.property(fc.array(text), text, fc.array(text), (before, one, after) => {
      const deltaOf = (given: typeof one) => learn(analyse(given.text), given.tags ?? undefined)
      const without = newMemory()
      for (const given of [...before, ...after]) apply(without, deltaOf(given))
      const memory = newMemory()
      for (const given of [...before, one, ...after]) apply(memory, deltaOf(given))
      apply(memory, deltaOf(one), -1)
      assert.deepEqual(memory, without)
    }),
    seeded(),
  )
})

test('what the tagger gave can be taken out again', () => {
  const memory = newMemory()
  const analysis = analyse(texts[0] ?? '')
  apply(memory, learnGenerated(analysis, ['scroll wheel']))
  apply(memory, learnGenerated(analysis, ['scroll wheel']), -1)
  assert.deepEqual(memory, newMemory())
})

test('no text can be read back: terms are numbers', () => {
  const memory = newMemory()
  apply(memory, learn(analyse(texts[2] ?? '')))
  assert.ok(memory.terms.size > 0)
  for (const hash of memory.terms.keys()) assert.ok(Number.isSafeInteger(hash))
  assert.doesNotMatch(JSON.stringify([...memory.terms]), /[a-z]{3,}vane/)
  assert.equal(memory.tags.size, 0)
})

test('decay lets old texts count for less, until nothing is left of them', () => {
  const memory = newMemory()
  apply(memory, learn(analyse(texts[0] ?? ''), ['wheel']))
  decay(memory, 0.5)
  assert.equal(memory.texts, 0.5)
  for (let time = 0; time < 10; time++) decay(memory, 0.5)
  assert.equal(memory.terms.size, 0)
  assert.equal(memory.tags.size, 0)
})

test('a memory is bounded, and keeps what most texts have', () => {
  const memory = newMemory()
  apply(memory, learn(analyse('the invoice'), ['invoice']))
  for (let round = 0; round < 3; round++) apply(memory, learn(analyse('the scroll wheel')))
  const many = newMemory()
  for (let hash = 0; hash < MAX_TERMS; hash++) {
    many.terms.set(hash, { texts: 0.5, determined: 0, free: 0, valued: 0, judged: 0, given: 0 })
  }
  apply(memory, many)
  assert.ok(memory.terms.size <= MAX_TERMS)
  for (const { hash } of analyse('the scroll wheel').candidates.values()) assert.equal(memory.terms.get(hash)?.texts, 3)
})

function taught(text: string, tags: readonly string[], times = 8): Memory {
  const memory = newMemory()
  for (let time = 0; time < times; time++) apply(memory, learn(analyse(text), tags))
  return memory
}

test('one text cannot fill a memory', () => {
  const letters = 'bcdfghjklmnpqrstvwz'.split('')
  const text = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => `the ${a}a${b}e${c}o`))).join(' ')
  assert.ok(learn(analyse(text, 'en')).terms.size <= MAX_LEARNED_TERMS)
})

test('tags that people gave pull: their words win, and so does their way of writing them', () => {
  const text = 'The wheel on my device squeaks after the update'
  assert.ok(!generateTags(text).includes('wheel squeaks'))
  const memory = taught('The wheel squeaks', ['Squeak'])
  assert.deepEqual(generateTags(text, { memory }), ['squeak'])
})

test('a tag that people wrote in another form is found again under theirs', () => {
  const memory = taught('CSV export is missing', ['csv exports'])
  assert.deepEqual(generateTags('exporting to CSV is missing', { memory }), ['csv exports'])
  assert.equal(titleInUse(memory, [...memory.tags.keys()][0] ?? ''), 'csv exports')
})

test('phrases that people leave out again and again are not given', () => {
  const memory = taught('The wheel is stuck and the button is loose', ['button'], 30)
  assert.deepEqual(generateTags('The wheel is stuck and the button is loose', { memory }), ['button'])
})

test('a batch changes the memory by its delta', () => {
  const memory = newMemory()
  const { tags, delta } = tagBatch(memory, [{ text: texts[0] ?? '' }, { text: texts[1] ?? '', tags: ['wheel'] }])
  assert.deepEqual(tags[1], ['wheel'])
  const other = newMemory()
  apply(other, delta)
  assert.deepEqual(other, memory)
  apply(memory, delta, -1)
  assert.deepEqual(memory, newMemory())
})
