import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { TEXT_KINDS, type TextKind } from '../../contract/kinds-of-texts.ts'
import { MOODS } from '../../meaning/cells.ts'
import { judgeKind, judgeMood, moodOfSatisfaction } from '../../meaning/judge.ts'
import { decideMeaning, hashesOfSums, type MeantText, readMeaning, type TextReading } from '../../meaning/meaning.ts'
import { subtractShare, type Sums } from '../../meaning/sums.ts'
import type { ThemeMemory } from '../../meaning/themes.ts'
import { analyse } from '../../tagger/generate-tags.ts'
import { seeded } from '../support/property-seed.ts'

const read = (text: string): TextReading => readMeaning(analyse(text), 1)
const none: Sums = new Map()
const newThemes = (): ThemeMemory => ({ themes: [], recent: [], sums: new Map(), texts: 1, textsWith: new Map() })
const meant = (id: string, text: string, labels: MeantText['labels'] = {}): MeantText => ({
  id,
  terms: [],
  tags: [],
  subjects: [],
  read: read(text),
  labels,
})

const PRAISE_AND_BLAME = [
  ['I love it, the staff were friendly and fast!', 'Terrible. It never works and support is rude.'],
  ['Sehr zufrieden, tolles Frühstück!', 'Der Service ist furchtbar, das Essen war kalt.'],
  ['Une équipe très sympathique, je recommande.', "Accueil désagréable et plats froids, c'est nul."],
  ['Excelente servicio y comida deliciosa.', 'El trato fue pésimo y la comida estaba fría.'],
  ['Ottimo servizio, personale gentilissimo.', 'Cibo pessimo e camerieri maleducati.'],
  ['Atendimento excelente, adorei!', 'O atendimento foi péssimo e a comida estava fria.'],
  ['Heerlijk gegeten, vriendelijke bediening.', 'Slechte service en koud eten.'],
  ['Bardzo miła obsługa, polecam!', 'Fatalna obsługa, nie polecam.'],
  ['Очень вкусно и уютно, спасибо!', 'Ужасное обслуживание, еда холодная.'],
  ['Harika bir yer, çok lezzetli.', 'Berbat hizmet, yemek soğuk ve pahalı.'],
  ['خدمة ممتازة وطعام لذيذ', 'خدمة سيئة جدا وطعام بارد'],
  ['とても使いやすくて満足です。', 'すぐに壊れました。最悪です。'],
  ['质量很好,非常满意。', '太差了,用了几次就坏了。'],
] as const

test('praise is above zero and blame below, in thirteen languages, without ratings', () => {
  for (const [praise, blame] of PRAISE_AND_BLAME) {
    assert.ok(judgeMood(read(praise), none) > 0.2, praise)
    assert.ok(judgeMood(read(blame), none) < -0.2, blame)
  }
})

test('a negation turns praise, before its word or after it', () => {
  assert.ok(judgeMood(read('This is not good.'), none) < judgeMood(read('This is good.'), none) - 0.5)
  assert.ok(judgeMood(read('Das gefällt mir nicht.'), none) < judgeMood(read('Das gefällt mir.'), none) - 0.5)
  assert.ok(judgeMood(read('不好用'), none) < judgeMood(read('好用'), none) - 0.5)
})

test('ratings of the workspace teach its own words', () => {
  const memory = newThemes()
  const before = judgeMood(read('the zorp again'), memory.sums)
  const texts = Array.from({ length: 40 }, (_, at) =>
    at % 2 === 0 ? meant(`${at}`, 'the zorp is here', { mood: -1 }) : meant(`${at}`, 'all is here', { mood: 1 }),
  )
  decideMeaning(memory, texts)
  assert.ok(judgeMood(read('the zorp again'), memory.sums) < before - 0.2)
})

test('the rating of a text does not judge the text itself', () => {
  const text = 'The table is made of wood.'
  const [rated] = decideMeaning(newThemes(), [meant('a', text, { mood: -1, kind: 'praise' })]).texts
  const [plain] = decideMeaning(newThemes(), [meant('a', text)]).texts
  assert.deepEqual({ ...rated, taught: 0 }, { ...plain, taught: 0 })
})

type Labelled = { readonly id: string; readonly kind: TextKind; readonly text: string }
const labelled = readFileSync(new URL('kinds.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Labelled)

test('the labelled texts get their kind, and the kinds that are sure are right', () => {
  const judged = labelled.map(({ kind, text }) => ({ gold: kind, ...judgeKind(read(text), none) }))
  const f1 = TEXT_KINDS.map((kind) => {
    const right = judged.filter((each) => each.gold === kind && each.kind === kind).length
    return (
      (2 * right) /
      judged.filter((each) => each.gold === kind).concat(judged.filter((each) => each.kind === kind)).length
    )
  })
  assert.ok(f1.reduce((sum, each) => sum + each, 0) / TEXT_KINDS.length >= 0.85, f1.join(' '))
  const sure = judged.filter(({ isSure }) => isSure)
  assert.ok(sure.length >= 0.5 * judged.length)
  assert.ok(sure.filter(({ gold, kind }) => gold === kind).length >= 0.9 * sure.length)
})

test('a text without words has neither mood nor kind', () => {
  const [text] = decideMeaning(newThemes(), [meant('a', '12345 …')]).texts
  assert.deepEqual([text?.mood, text?.kind], [null, null])
})

test('satisfaction of five stars teaches blame, neither and praise', () => {
  assert.deepEqual([0, 0.25, 0.5, 0.75, 1].map(moodOfSatisfaction), [-1, -1, 0, 1, 1])
})

test('a job asks for the rows of its texts and of waiting texts only', () => {
  const text = { ...meant('a', 'the invoice'), terms: [5] }
  const recent = [
    { id: 'b', terms: [6], tags: [], hasTheme: false },
    { id: 'c', terms: [7], tags: [], hasTheme: true },
  ]
  assert.deepEqual(hashesOfSums([text], { recent, isTaught: true }), new Set([0, 5, ...text.read.cues, 6]))
  assert.deepEqual(hashesOfSums([text], { recent, isTaught: false }), new Set([0, 5, 6]))
})

test('sums without a labelled text equal those of a workspace that never had it', () => {
  const drawn = fc.record({
    text: fc.constantFrom(...labelled.slice(0, 40).map(({ text }) => text)),
    labels: fc.record({
      mood: fc.constantFrom(undefined, ...MOODS),
      kind: fc.constantFrom(undefined, ...TEXT_KINDS),
    }),
    isGone: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(drawn, { maxLength: 12 }), (texts) => {
      const toText = ({ text, labels }: (typeof texts)[number], at: number) => meant(`${at}`, text, labels)
      const [memory, expected] = [newThemes(), newThemes()]
      const decided = decideMeaning(memory, texts.map(toText)).texts
      for (const [at, { taught }] of decided.entries()) if (texts[at]!.isGone) subtractShare(memory.sums, taught)
      decideMeaning(expected, texts.filter(({ isGone }) => !isGone).map(toText))
      assert.deepEqual(memory.sums, expected.sums)
    }),
    seeded({ numRuns: 30 }),
  )
})
