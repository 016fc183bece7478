import { TEXT_KINDS, type TextKind } from '../contract/kinds-of-texts.ts'
import { kindCell, MOODS, type MoodClass, moodCell } from './cells.ts'
import { classify, type Learning, MANY_TEXTS } from './classify.ts'
import weights from './data/weights.json' with { type: 'json' }
import { SIGNS } from './signs.ts'
import { ALL, type Sums, sumOf } from './sums.ts'

/** What mood and kind need of a text: its general signs in the order of SIGNS, and its cues. */
export type JudgedText = { readonly signs: readonly number[]; readonly cues: readonly number[] }

export type JudgedKind = { readonly kind: TextKind; readonly probability: number; readonly isSure: boolean }

const MOOD_LEARNING: Learning = { shipped: 1, least: 0.5, most: 1, frequency: 0 }
const KIND_LEARNING: Learning = { shipped: 0.7, least: 1, most: 1, frequency: 1 }
const MOOD_CELLS = MOODS.map(moodCell)
const KIND_CELLS = TEXT_KINDS.map(kindCell)
/**
 * A kind is sure, and is shown, from this probability on: without labels, and with many. Labels make
 * the score too confident.
 */
const SURE_SHIPPED = 0.8
const SURE_LEARNED = 0.86
/** Satisfaction up to the first number is blame, from the second one on praise. */
const BLAME_SATISFACTION = 0.4
const PRAISE_SATISFACTION = 0.6

type SignWeights = Readonly<Record<(typeof SIGNS)[number], readonly number[]>>

/** From -1 (blame) to 1 (praise): the probability of praise minus that of blame. */
export const judgeMood = ({ signs, cues }: JudgedText, sums: Sums): number => {
  const scores = scoresOf(weights.mood, signs, MOODS.length)
  const [blame = 0, , praise = 0] = classify(scores, { cues, sums, cells: MOOD_CELLS, learning: MOOD_LEARNING })
  return praise - blame
}

/** The likeliest kind. It is shown only if it is sure. */
export const judgeKind = ({ signs, cues }: JudgedText, sums: Sums): JudgedKind => {
  const scores = scoresOf(weights.kind, signs, TEXT_KINDS.length)
  const shares = classify(scores, { cues, sums, cells: KIND_CELLS, learning: KIND_LEARNING })
  const probability = Math.max(...shares)
  const labelled = KIND_CELLS.reduce((texts, cell) => texts + sumOf(sums, ALL, cell), 0)
  const least = SURE_SHIPPED + (SURE_LEARNED - SURE_SHIPPED) * Math.min(1, labelled / MANY_TEXTS)
  return { kind: TEXT_KINDS[shares.indexOf(probability)]!, probability, isSure: probability >= least }
}

/** What a rating teaches about the mood of its text. `satisfaction`: 0 to 1. */
export const moodOfSatisfaction = (satisfaction: number): MoodClass => {
  if (satisfaction <= BLAME_SATISFACTION) return -1
  return satisfaction >= PRAISE_SATISFACTION ? 1 : 0
}

const scoresOf = (ofSigns: SignWeights, signs: readonly number[], classes: number): number[] =>
  Array.from({ length: classes }, (_, at) =>
    SIGNS.reduce((sum, sign, place) => sum + ofSigns[sign][at]! * signs[place]!, 0),
  )
