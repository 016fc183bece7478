import process from 'node:process'
import { printHelp } from '../../runtime/print-help.ts'
import { generateTags } from '../../tagger/generate-tags.ts'
import { newMemory } from '../../tagger/memory.ts'
import { tagTexts } from '../../tagger/tag-texts.ts'
import { evaluate, fitModel, toFigures } from './fit-tags.ts'
import type { HitCounts, Model } from './fit-tags.ts'
import { toAllCases, toCases } from './tag-cases.ts'
import type { Case } from './tag-cases.ts'
import { hashBelow, readBanking, readHuLiu, readSupport } from './tag-data.ts'
import type { Labelled } from './tag-data.ts'

// Prints the quality on three sets of texts in data/, and the speed. No weights are fitted on scored
// texts.
printHelp(`usage: npm run bench:tags
Scores the tagger on three sets of texts: quality and speed.`)

const FOLDS = 3
const TEXTS_TOGETHER = 500

type ResultRow = {
  method: string
  f1: string
  precision: string
  recall: string
  'tags a text': string
}
const pieces = readHuLiu()
const questions = readBanking()

const support = readSupport('dev')
/** All cases for fitting. `fitWithout` leaves out those of the scored texts. */
const fitted = toAllCases([...pieces, ...support])
const ALL = Number.POSITIVE_INFINITY

const productsOf = (texts: readonly Labelled[]): string[] => [...new Set(texts.map(({ product }) => product))]

const fitWithout = (isScored: (tagCase: Case) => boolean): Model => {
  const without = (some: readonly Case[]): Case[] => some.filter((tagCase) => !isScored(tagCase))
  return fitModel({
    none: without(fitted.none),
    untagged: without(fitted.untagged),
    tagged: without(fitted.tagged),
  })
}

const reviewCases = {
  'no history': toCases(pieces, { texts: 0, tagged: 0 }),
  history: toCases(pieces, { texts: ALL, tagged: 0 }),
  "history, people's tags on 5 of its texts": toCases(pieces, { texts: ALL, tagged: 5 }),
  "history with people's tags": toCases(pieces, { texts: ALL, tagged: ALL }),
}

/** Scores each fold of the reviews with weights that are fitted on the other folds. */
const benchReviews = (fittedOn: string, isIn: (tagCase: Case, fold: number) => boolean, folds: number): object[] => {
  const models = Array.from({ length: folds }, (_, fold) => fitWithout((tagCase) => isIn(tagCase, fold)))
  return Object.entries(reviewCases).map(([history, cases]) => ({
    ...toRow(`${history}, fitted on ${fittedOn}`, evaluateFolds(cases, models, isIn)),
    'texts a second': Math.round(measureSpeed(history !== 'no history') / 100) * 100,
  }))
}

/** The sums over all folds. Each model scores its own fold. */
const evaluateFolds = (
  cases: readonly Case[],
  models: readonly Model[],
  isIn: (tagCase: Case, fold: number) => boolean,
): HitCounts => {
  const sum: HitCounts = { right: 0, generated: 0, wanted: 0, texts: 0 }
  for (const [fold, model] of models.entries()) {
    const counts = evaluate(
      cases.filter((tagCase) => isIn(tagCase, fold)),
      model,
    )
    for (const name of ['right', 'generated', 'wanted', 'texts'] as const) sum[name] += counts[name]
  }
  return sum
}

/** Texts per second of processor time, so that other programs on the machine do not count. */
const measureSpeed = (hasMemory: boolean): number => {
  const tagAll = (): void => {
    if (!hasMemory) for (const { text } of pieces) generateTags(text)
    else tagTexts(newMemory(), pieces)
  }
  tagAll()
  const started = process.cpuUsage()
  tagAll()
  const { user, system } = process.cpuUsage(started)
  return (pieces.length * 1_000_000) / (user + system)
}

const toRow = (method: string, counts: HitCounts): ResultRow => {
  const { f1, precision, recall, perText } = toFigures(counts)
  const percent = (share: number): string => (100 * share).toFixed(1)
  return {
    method,
    f1: percent(f1),
    precision: percent(precision),
    recall: percent(recall),
    'tags a text': perText.toFixed(2),
  }
}

/** People tag each question whose number is a multiple of `every`. */
const benchBanking = (every: number | undefined): object => {
  const memory = newMemory()
  const uses = new Map<string, number>()
  let without = 0
  for (let start = 0; start < questions.length; start += TEXTS_TOGETHER) {
    const texts = questions
      .slice(start, start + TEXTS_TOGETHER)
      .map(({ text, gold }, at) =>
        every !== undefined && (start + at) % every === 0 ? { text, tags: gold } : { text },
      )
    for (const tags of tagTexts(memory, texts).tags) {
      if (tags.length === 0) without++
      for (const tag of tags) uses.set(tag, (uses.get(tag) ?? 0) + 1)
    }
  }
  const once = [...uses.values()].filter((count) => count === 1).length
  return {
    'tagged by people': every === undefined ? 'none' : `every ${every}th`,
    'texts without a tag': `${((100 * without) / questions.length).toFixed(1)} %`,
    'different tags': uses.size,
    'of them given once': `${((100 * once) / uses.size).toFixed(1)} %`,
  }
}

/**
 * Scores support texts with weights that are fitted without their products: all of `held`, and each
 * third of `dev` in turn.
 */
const benchSupport = (): ResultRow[] => {
  const products = productsOf(support)
  const isIn = ({ text }: Case, fold: number): boolean => products.indexOf(text.product) % FOLDS === fold
  const models = Array.from({ length: FOLDS }, (_, fold) => fitWithout((tagCase) => isIn(tagCase, fold)))
  const whole = fitWithout(() => false)
  const histories = { 'no history': 0, history: 0, "history with people's tags": ALL }
  return Object.entries(histories).flatMap(([history, tagged]) => {
    const lengths = { texts: history === 'no history' ? 0 : ALL, tagged }
    const dev = evaluateFolds(toCases(support, lengths), models, isIn)
    const held = evaluate(toCases(readSupport('held'), lengths), whole)
    return [toRow(`dev, ${history}`, dev), toRow(`held, ${history}`, held)]
  })
}

console.log(`Hu and Liu, ${pieces.length} pieces: micro F1 of at most five tags, texts a second on one core`)
console.table([
  ...benchReviews(
    'other reviews of the same products',
    ({ text }, fold) => hashBelow(`${text.group} cv`, FOLDS) === fold,
    FOLDS,
  ),
  ...benchReviews(
    'other products',
    ({ text }, fold) => text.product === productsOf(pieces)[fold],
    productsOf(pieces).length,
  ),
])
console.log('Support: each text scored with weights that were not fitted on texts to its company')
console.table(benchSupport())
console.log(`Banking77, ${questions.length} questions in one workspace without a history, ${TEXTS_TOGETHER} at a time`)
console.table([undefined, 20, 10].map((every) => benchBanking(every)))
