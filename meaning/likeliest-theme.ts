import { themeCell, themeOfCell } from './cells.ts'
import { ALL, type Cell, type Sums, sumOf, textsWithTheme } from './sums.ts'

/** What likeness needs of the themes and the texts of a workspace. */
type Likeness = {
  readonly themes: readonly { readonly number: number; readonly tags: readonly number[] }[]
  readonly sums: Sums
  readonly texts: number
  readonly textsWith: ReadonlyMap<number, number>
}

/** A theme knows a term that so many of its texts have, and this many times the usual share. */
const KNOWN_TEXTS = 2
const KNOWN_LIFT = 4
/** The weight of a text that is placed by likeness. */
const LIKENESS_WEIGHT = 0.15
/** So many texts with the terms of the whole workspace are mixed into each theme. */
const USUAL_TEXTS = 2.5
/** Small themes count as if they had so many texts more, or the largest would take too much. */
const EVEN_TEXTS = 10

/**
 * A name must fit the texts of its theme: a theme whose tag has placed less of the texts with a theme takes
 * none by likeness. The name of a person fits.
 */
const LEAST_SHARE = 0.002

/**
 * The likeliest theme by the terms, as a mixture of themes with independent terms. Undefined if the
 * theme knows none of the terms or takes no text. `isLong`: the text has waited long; it goes to the
 * likeliest of the themes that can take it.
 */
export const likeliestTheme = (memory: Likeness, terms: readonly number[], isLong: boolean): number | undefined => {
  const least = LEAST_SHARE * textsWithTheme(memory.sums)
  const scores = new Map(memory.themes.map(({ number }) => [number, scoreWithoutTerms(memory, number, terms.length)]))
  for (const term of terms) {
    const usual = ((memory.textsWith.get(term) ?? 0) + 0.5) / (memory.texts + 1)
    const row = memory.sums.get(term) ?? NO_TEXTS
    for (const cell of row.keys()) {
      const score = scores.get(themeOfCell(cell))
      // A theme has two cells, and counts at the first of them.
      if (score === undefined || score.lastTerm === term) continue
      score.lastTerm = term
      const [sure, like] = [row.get(score.sureCell) ?? 0, row.get(score.likeCell) ?? 0]
      // A theme without the term adds nothing, which keeps this short.
      score.value += Math.log(1 + (sure + LIKENESS_WEIGHT * like) / (USUAL_TEXTS * usual))
      const known = sure + like
      score.isKnown ||= known >= (isLong ? 1 : KNOWN_TEXTS) && known > KNOWN_LIFT * usual * (score.sure + score.like)
    }
  }
  let found: number | undefined
  let best = -Infinity
  for (const { number: theme, tags } of memory.themes) {
    const score = scores.get(theme)!
    const takes = score.isKnown && (tags.length === 0 || score.sure >= least)
    if (score.value <= best || (isLong && !takes)) continue
    best = score.value
    found = takes ? theme : undefined
  }
  return found
}

const NO_TEXTS: ReadonlyMap<Cell, number> = new Map()

/**
 * `sure`: the texts of the theme that are not placed by likeness; `like`: the others. `lastTerm`: the
 * last term that it has counted.
 */
type ThemeScore = {
  value: number
  isKnown: boolean
  lastTerm: number | undefined
  readonly sure: number
  readonly like: number
  readonly sureCell: Cell
  readonly likeCell: Cell
}

const scoreWithoutTerms = ({ sums }: Likeness, theme: number, terms: number): ThemeScore => {
  const [sureCell, likeCell] = [themeCell({ theme, by: 'tag' }), themeCell({ theme, by: 'likeness' })]
  const [sure, like] = [sumOf(sums, ALL, sureCell), sumOf(sums, ALL, likeCell)]
  const weighed = sure + LIKENESS_WEIGHT * like + USUAL_TEXTS
  return {
    value: Math.log(sure + like + EVEN_TEXTS) - terms * Math.log(weighed),
    isKnown: false,
    lastTerm: undefined,
    sure,
    like,
    sureCell,
    likeCell,
  }
}
