import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analyse, generateTags } from '../../tagger/generate-tags.ts'
import { learn, MAX_LEARNED_TERMS } from '../../tagger/learn.ts'
import { addDelta, hashTerm, MAX_TERMS, newMemory, titleInUse } from '../../tagger/memory.ts'
import type { Memory } from '../../tagger/memory.ts'
import { tagTexts } from '../../tagger/tag-texts.ts'

const texts = [
  'The scroll wheel is great, but the battery life is short.',
  'Battery life could be better. I love the scroll wheel!',
  'The export to CSV fails and Tolvane does not answer.',
  'la factura llega tarde',
]

test('terms are numbers, so that no text can be read back', () => {
  const memory = newMemory()
  addDelta(memory, learn(analyse(texts[2] ?? '')))
  assert.ok(memory.terms.size > 0)
  for (const hash of memory.terms.keys()) assert.ok(Number.isSafeInteger(hash))
  assert.equal(memory.tags.size, 0)
})

test('a word that one text has as a phrase and as a possible name gets the counts of both', () => {
  const { terms } = learn(analyse('The GUI is slow. GUI hangs', 'en'))
  const expected = { texts: 1, determined: 1, free: 1, valued: 1, judged: 0, given: 0 }
  assert.deepEqual(terms.get(hashTerm('gui')), expected)
})

test('a memory is bounded, and keeps the most common terms', () => {
  const memory = newMemory()
  addDelta(memory, learn(analyse('the invoice'), ['invoice']))
  for (let round = 0; round < 3; round++) addDelta(memory, learn(analyse('the scroll wheel')))
  const many = newMemory()
  for (let hash = 0; hash < MAX_TERMS; hash++) {
    many.terms.set(hash, { texts: 0.5, determined: 0, free: 0, valued: 0, judged: 0, given: 0 })
  }
  addDelta(memory, many)
  assert.ok(memory.terms.size <= MAX_TERMS)
  for (const { hash } of analyse('the scroll wheel').candidates.values()) assert.equal(memory.terms.get(hash)?.texts, 3)
})

const taught = (text: string, tags: readonly string[], times = 8): Memory => {
  const memory = newMemory()
  for (let time = 0; time < times; time++) addDelta(memory, learn(analyse(text), tags))
  return memory
}

test('one text cannot fill a memory', () => {
  const letters = 'bcdfghjklmnpqrstvwz'.split('')
  const text = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => `the ${a}a${b}e${c}o`))).join(' ')
  assert.ok(learn(analyse(text, 'en')).terms.size <= MAX_LEARNED_TERMS)
})

test('a tag that people gave to similar texts comes before the tags that the words suggest', () => {
  const text = 'The wheel on my device squeaks after the update'
  assert.deepEqual(generateTags(text), ['wheel'])
  const memory = taught('The wheel squeaks', ['Squeak'])
  assert.deepEqual(generateTags(text, { memory }), ['squeak'])
})

test('a phrase gets the spelling of people, also in another form', () => {
  const memory = taught('CSV export is missing', ['csv exports'])
  assert.deepEqual(generateTags('exporting to CSV is missing', { memory }), ['csv exports'])
  assert.equal(
    titleInUse(memory, [...memory.tags.keys()][0] ?? '', () => true),
    'csv exports',
  )
})

test('a phrase that people repeatedly leave out is not given as a tag', () => {
  const memory = taught('The wheel is stuck and the button is loose', ['button'], 30)
  assert.deepEqual(generateTags('The wheel is stuck and the button is loose', { memory }), ['button'])
})

test('a group changes the memory by the shares of its texts', () => {
  const memory = newMemory()
  const { tags, shares } = tagTexts(memory, [{ text: texts[0] ?? '' }, { text: texts[1] ?? '', tags: ['wheel'] }])
  assert.deepEqual(tags[1], ['wheel'])
  const other = newMemory()
  for (const share of shares) addDelta(other, share)
  assert.deepEqual(other, memory)
})

const BANK = [
  'My card payment was declined at the supermarket yesterday.',
  'The exchange rate on my statement is wrong.',
  'How long does a bank transfer to another country take?',
  'The passcode is blocked, and the app does not say why.',
  'Why is there a fee on my cash withdrawal?',
]
const DEVICE = [
  'The wheel squeaks',
  'The wheel is stuck',
  'A loose wheel again',
  'The wheel fell off',
  'My wheel is gone',
]

/** A memory of this many untagged texts, and this many texts with tags of people. */
const workspace = (untagged: number, tagged: number): Memory => {
  const memory = newMemory()
  const [others, own] = [
    BANK.map((text) => learn(analyse(text))),
    DEVICE.map((text) => learn(analyse(text), ['Wheel defect'])),
  ]
  for (let at = 0; at < untagged; at++) addDelta(memory, others[at % others.length]!)
  for (let at = 0; at < tagged; at++) addDelta(memory, own[at % own.length]!)
  return memory
}

test('a few texts with tags of people do not take tags from other texts', () => {
  const [none, few] = [workspace(1_000, 0), workspace(995, 5)]
  for (const text of BANK) {
    const tags = generateTags(text, { memory: none })
    assert.ok(tags.length > 0, text)
    assert.deepEqual(generateTags(text, { memory: few }), tags)
  }
})

test('tags of people have their full weight after 15 texts, and one more for every 20 untagged texts', () => {
  const text = 'Why is there a fee on my cash withdrawal?'
  const tagsAfter = (tagged: number): string[] => generateTags(text, { memory: workspace(300, tagged) })
  assert.deepEqual(tagsAfter(25), ['cash withdrawal', 'fee'])
  for (const tagged of [30, 300]) assert.deepEqual(tagsAfter(tagged), ['cash withdrawal'])
})

test('a text unlike all tagged texts gets tags, however many texts people have tagged', () => {
  for (const tagged of [1, 5, 50, 500]) {
    const memory = workspace(0, tagged)
    for (const text of BANK) assert.ok(generateTags(text, { memory }).length > 0, `${tagged}: ${text}`)
  }
})

test('a tag that people gave once is given again where it fits', () => {
  const memory = workspace(100, 0)
  addDelta(memory, learn(analyse('The receipt is missing'), ['Receipt']))
  const tags = generateTags('The exchange rate is wrong on the receipt of my card', { memory })
  assert.ok(tags.includes('receipt'), tags.join())
})

test('a tag that people gave at each occurrence is given again, even if its words are not a phrase', () => {
  const memory = newMemory()
  for (const text of ['Face id is slow', 'Since Friday face id fails', 'I want face id for payments']) {
    addDelta(memory, learn(analyse(text), ['face id']))
  }
  for (let at = 0; at < 40; at++) addDelta(memory, learn(analyse(BANK[at % BANK.length] ?? ''), ['other matter']))
  assert.ok(generateTags('face id died, now I type my passcode', { memory }).includes('face id'))
})

test('a generated tag of one language is not given in another language', () => {
  const memory = newMemory()
  const french = { text: "La piscine est sale et l'exportation ne marche pas", language: 'fr' }
  assert.deepEqual(tagTexts(memory, [french, french, french]).tags[0], ['piscine', 'exportation'])
  assert.deepEqual(generateTags('La piscina está sucia', { language: 'es', memory }), ['piscina'])
  assert.deepEqual(generateTags('De export werkt niet', { language: 'nl', memory }), ['export'])
})
