import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fitExamples } from '../../meaning/place-like.ts'

const examples = [
  { theme: 4, terms: [1, 2] },
  { theme: 4, terms: [1, 3] },
  { theme: 9, terms: [5, 6] },
  { theme: 9, terms: [5, 2] },
]

test('a text with the terms of examples goes to their theme with a high probability', () => {
  const like = fitExamples(examples)!
  assert.equal(like([1, 7]).theme, 4)
  assert.equal(like([5, 6]).theme, 9)
  assert.ok(like([5, 6]).probability > 0.8)
})

test('a text without known terms is not sure, and a single theme decides nothing', () => {
  assert.equal(fitExamples(examples)!([77]).probability, 0.5)
  assert.equal(fitExamples(examples.slice(0, 2)), undefined)
})
