import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Placed, themeCell } from '../../meaning/cells.ts'
import { addShare, ALL, subtractShare, type Sums, sumOf } from '../../meaning/sums.ts'
import { decideThemes, type NewText, type ThemeMemory } from '../../meaning/themes.ts'
import type { TagSubject } from '../../tagger/subject.ts'
import { seeded } from '../support/property-seed.ts'

const [CARD, PIN, LOST, QUEUE, LONG, RAIN] = [101, 102, 103, 104, 105, 106]

const newThemes = (): ThemeMemory & { texts: number; textsWith: Map<number, number> } => ({
  themes: [],
  recent: [],
  sums: new Map(),
  texts: 0,
  textsWith: new Map(),
})

/** Decides the texts one after the other, as jobs of one text do. Returns the theme of each text. */
const decide = (memory: ReturnType<typeof newThemes>, texts: readonly NewText[]): Map<string, Placed> => {
  const placed = new Map<string, Placed>()
  for (const text of texts) {
    memory.texts++
    for (const term of text.terms) memory.textsWith.set(term, (memory.textsWith.get(term) ?? 0) + 1)
    for (const each of decideThemes(memory, [text]).placed) {
      assert.ok(!placed.has(each.id), 'a text got a second theme')
      placed.set(each.id, each.placed)
    }
  }
  return placed
}

const plain = (...words: string[]): TagSubject => ({ words, isPlain: true })
/** Each tag is a plain word of its own. */
const textOf = (id: number, terms: number[], tags: number[] = []): NewText => ({
  id: `t${id}`,
  terms,
  tags,
  subjects: tags.map((tag) => plain(`word ${tag}`)),
})
/** A text with one tag. */
const textWith = (id: number, tag: number, subject: TagSubject): NewText => ({
  ...textOf(id, [tag], [tag]),
  subjects: [subject],
})

test('a tag that recurs opens a theme, which takes the texts that waited for it', () => {
  const memory = newThemes()
  const placed = decide(memory, [
    textOf(1, [CARD, LOST], [CARD]),
    textOf(2, [RAIN]),
    textOf(3, [CARD, PIN], [CARD]),
    textOf(4, [CARD], [CARD]),
  ])
  assert.deepEqual(memory.themes, [{ number: 1, tags: [CARD], subject: [`word ${CARD}`] }])
  assert.deepEqual([...placed.keys()].toSorted(), ['t1', 't3', 't4'])
  for (const each of placed.values()) assert.deepEqual(each, { theme: 1, by: 'tag' })
})

test('a tag without a subject opens no theme', () => {
  const memory = newThemes()
  decide(
    memory,
    [1, 2, 3, 4, 5, 6].map((id) => textWith(id, RAIN, plain())),
  )
  assert.deepEqual(memory.themes, [])
})

test('a tag that shares a word with the subject of a theme opens none: its texts go there by tag', () => {
  const memory = newThemes()
  decide(
    memory,
    [1, 2].map((id) => textWith(id, CARD, plain('card'))),
  )
  const lost = [3, 4, 5].map((id) => textWith(id, LOST, plain('lost', 'card')))
  const placed = decide(memory, lost)
  assert.equal(memory.themes.length, 1)
  for (const { id } of lost) assert.deepEqual(placed.get(id), { theme: 1, by: 'tag' })
})

test('a text goes to the theme that has most words of its subject', () => {
  const memory = newThemes()
  const group = (from: number, tag: number, subject: TagSubject) =>
    [from, from + 1].map((id) => textWith(id, tag, subject))
  decide(memory, [...group(1, CARD, plain('credit')), ...group(3, PIN, plain('card', 'pin'))])
  const placed = decide(memory, [textWith(5, LOST, plain('credit', 'card', 'pin'))])
  assert.deepEqual(placed.get('t5'), { theme: 2, by: 'tag' })
})

test('a tag that is no plain word opens a theme after more texts than a plain one', () => {
  const openedAfter = (isPlain: boolean): number => {
    const memory = newThemes()
    let texts = 0
    while (memory.themes.length === 0 && texts < 20)
      decide(memory, [textWith(++texts, RAIN, { words: ['rain'], isPlain })])
    return texts
  }
  assert.deepEqual([openedAfter(true), openedAfter(false)], [2, 5])
})

test('a text goes to the theme of its rarest theme tag, else to the likeliest, else to none', () => {
  const memory = newThemes()
  const cards = [1, 2, 3, 4, 5].map((id) => textOf(id, [CARD, LOST], [CARD]))
  const pins = [6, 7, 8].map((id) => textOf(id, [PIN], [PIN]))
  const others = Array.from({ length: 60 }, (_, at) => textOf(100 + at, [1000 + at]))
  decide(memory, [...cards, ...pins, ...others])
  const placed = decide(memory, [textOf(50, [CARD, PIN], [CARD, PIN]), textOf(51, [LOST, RAIN]), textOf(52, [RAIN])])
  assert.deepEqual(placed.get('t50'), { theme: 2, by: 'tag' })
  assert.deepEqual(placed.get('t51'), { theme: 1, by: 'likeness' })
  assert.equal(placed.get('t52'), undefined)
})

test('a merged theme keeps getting texts, and a theme that a text has is never decided again', () => {
  const memory = newThemes()
  const group = (tag: number, from: number) => [0, 1, 2].map((at) => textOf(from + at, [tag, LONG], [tag]))
  decide(memory, [...group(QUEUE, 1), ...group(RAIN, 4)])
  memory.themes[1] = { ...memory.themes[1]!, isMerged: true }
  assert.deepEqual(decide(memory, group(RAIN, 7)).get('t7'), { theme: 2, by: 'tag' })
  const known = { theme: 2, by: 'likeness' } as const
  assert.equal(decide(memory, [{ ...textOf(10, [QUEUE], [QUEUE]), known }]).size, 0)
})

test('a workspace has at most 40 open themes', () => {
  const memory = newThemes()
  const texts = Array.from({ length: 150 }, (_, at) => textOf(at, [Math.floor(at / 3)], [Math.floor(at / 3) + 500]))
  decide(memory, texts)
  assert.equal(memory.themes.length, 40)
})

test('a tag opens a theme beside a theme of most texts, when more of its texts have it', () => {
  const memory = newThemes()
  const courses = Array.from({ length: 20 }, (_, at) => textOf(at, [CARD], [CARD]))
  const inQueue = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, at) => textOf(from + at, [CARD, QUEUE], [CARD, QUEUE]))
  assert.equal(decide(memory, [...courses, ...inQueue(20, 23)]).get('t22')!.theme, 1)
  assert.deepEqual(decide(memory, inQueue(23, 24)).get('t23'), { theme: 2, by: 'tag' })
  assert.equal(decide(memory, inQueue(24, 25)).get('t24')!.theme, 2)
})

test('a theme whose tag has placed hardly any texts takes none by likeness', () => {
  const memory = newThemes()
  const cards = Array.from({ length: 5 }, (_, at) => textOf(at, [CARD, LOST], [CARD]))
  decide(memory, cards)
  const ofOthers = (texts: number) => memory.sums.get(ALL)!.set(themeCell({ theme: 99, by: 'tag' }), texts)
  memory.texts = 4000
  ofOthers(2000)
  assert.equal(decide(memory, [textOf(10, [LOST])]).get('t10')?.theme, 1)
  ofOthers(3000)
  assert.equal(decide(memory, [textOf(11, [LOST])]).get('t11'), undefined)
  // The name of a person fits.
  memory.themes[0] = { ...memory.themes[0]!, tags: [] }
  assert.equal(decide(memory, [textOf(12, [LOST])]).get('t12')?.theme, 1)
})

test('the last themes need more texts than the first ones', () => {
  const memory = newThemes()
  const pairs = Array.from({ length: 120 }, (_, at) =>
    textOf(at, [Math.floor(at / 2) + 500], [Math.floor(at / 2) + 500]),
  )
  decide(memory, pairs)
  assert.equal(memory.themes.length, 25)
  decide(
    memory,
    [0, 1, 2].map((at) => textOf(200 + at, [RAIN], [RAIN])),
  )
  assert.equal(memory.themes.length, 26)
})

const share = fc.record({
  hashes: fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 6 }),
  cells: fc.uniqueArray(fc.integer({ min: -9, max: 9 }), { maxLength: 3 }),
})

test('sums without a share equal the sums that never had it', () => {
  fc.assert(
    fc.property(fc.array(share, { maxLength: 20 }), fc.array(share, { maxLength: 20 }), (kept, gone) => {
      const [sums, expected]: [Sums, Sums] = [new Map(), new Map()]
      for (const each of [...gone, ...kept]) addShare(sums, each)
      for (const each of gone) subtractShare(sums, each)
      for (const each of kept) addShare(expected, each)
      assert.deepEqual(sums, expected)
    }),
    seeded(),
  )
})

test('the sums of themes are those of the terms and themes of the texts alone', () => {
  const text = fc.tuple(
    fc.uniqueArray(fc.integer({ min: 1, max: 15 }), { maxLength: 5 }),
    fc.integer({ min: 0, max: 3 }),
  )
  fc.assert(
    fc.property(fc.array(text, { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), (drawn, every) => {
      const memory = newThemes()
      const texts = drawn.map(([terms, tag], at) => textOf(at, terms, tag === 0 ? [] : [100 + tag]))
      const placed = decide(memory, texts)
      const expected: Sums = new Map()
      for (const [at, { id, terms }] of texts.entries()) {
        const own = placed.get(id)
        if (own === undefined) continue
        const cells = [themeCell(own)]
        if (at % every === 0) subtractShare(memory.sums, { hashes: terms, cells })
        else addShare(expected, { hashes: terms, cells })
      }
      assert.deepEqual(memory.sums, expected)
    }),
    seeded(),
  )
})

test('an emptied theme has no sum left', () => {
  const memory = newThemes()
  const texts = [1, 2, 3].map((id) => textOf(id, [CARD], [CARD]))
  for (const [id, placed] of decide(memory, texts)) {
    const { terms } = texts.find((text) => text.id === id)!
    subtractShare(memory.sums, { hashes: terms, cells: [themeCell(placed)] })
  }
  assert.equal(sumOf(memory.sums, ALL, themeCell({ theme: 1, by: 'tag' })), 0)
  assert.equal(memory.sums.size, 0)
})
