import type { TagSubject } from '../tagger/subject.ts'
import { type Placed, themeCell, themeOfCell } from './cells.ts'
import { addShare, ALL, type Cell, type Sums, sumOf } from './sums.ts'

/**
 * A theme of a workspace. `tags`: hashes of the tags that place texts in it. `subject`: the words of
 * the subject of its tag. `isMerged`: a person has merged it into another one. Its texts still are its
 * own, so the merge can be taken back.
 */
export type ThemeByTags = {
  readonly number: number
  readonly tags: readonly number[]
  readonly subject: readonly string[]
  readonly isMerged?: boolean
}

/** The hashes of the terms of a text, and of the keys of its tags. */
export type ThemeText = { readonly terms: readonly number[]; readonly tags: readonly number[] }

/**
 * A text of a job. `subjects`: those of its tags, in the same order. `known`: the theme that it has;
 * without one, it gets one.
 */
export type NewText = ThemeText & {
  readonly id: string
  readonly subjects: readonly TagSubject[]
  readonly known?: Placed | undefined
}

/** One of the last texts. `terms` may be empty if it has a theme. */
type RecentText = ThemeText & { readonly id: string; readonly hasTheme: boolean }

/** What the themes need of a workspace. They change it as texts come. */
export type ThemeMemory = {
  readonly themes: ThemeByTags[]
  /** The last texts before those of the job, the oldest first. */
  recent: RecentText[]
  readonly sums: Sums
  /** The number of texts of the workspace, and of those with a term; with the texts of the job. */
  readonly texts: number
  readonly textsWith: ReadonlyMap<number, number>
}

/** A text that got its theme. */
type PlacedText = { readonly id: string; readonly placed: Placed }
export type ThemeDecisions = { readonly placed: PlacedText[]; readonly opened: ThemeByTags[] }

const MOST_THEMES = 40
export const RECENT_TEXTS = 500
/** A tag opens a theme when so many recent texts without a theme have it, the new text included. */
const OPENING_TEXTS = 2
/** A tag that is no plain word may be odd, or tell only a part of a subject: it needs so many texts more. */
const ODD_TAG_TEXTS = 3
/** Each time that a workspace has so many themes more, the next ones need one text more. */
const THEMES_PER_TEXT = 25
/**
 * A text that is like no theme waits. After so many others came, less likeness is enough: it goes to
 * the likeliest of the themes that have a text with one of its terms.
 */
const WAITING_TEXTS = 250

/** A waiting text gets a try each time that so many more texts came. */
const RETRY_TEXTS = 50

/** Gives themes to the texts of a job in their order, and to texts that wait. Opens themes. */
export const decideThemes = (memory: ThemeMemory, texts: readonly NewText[]): ThemeDecisions => {
  const decisions: ThemeDecisions = { placed: [], opened: [] }
  for (const { known, subjects, ...text } of texts) {
    const placed = known ?? placeText(memory, { ...text, subjects }, false)
    if (known === undefined && placed !== undefined) put(memory, decisions, { text, placed })
    memory.recent.push({ ...text, hasTheme: placed !== undefined })
    if (memory.recent.length > RECENT_TEXTS) memory.recent.shift()
    if (placed?.by !== 'tag') openTheme(memory, decisions, { tags: text.tags, subjects })
    for (let age = RETRY_TEXTS; age < memory.recent.length; age += RETRY_TEXTS)
      placeWaiting(memory, decisions, { age, isLong: age > WAITING_TEXTS })
  }
  return decisions
}

const put = (
  memory: ThemeMemory,
  { placed: all }: ThemeDecisions,
  { text, placed }: { text: ThemeText & { readonly id: string }; placed: Placed },
): void => {
  addShare(memory.sums, { hashes: text.terms, cells: [themeCell(placed)] })
  all.push({ id: text.id, placed })
}

/** Recent texts come without subjects. */
const placeText = (
  memory: ThemeMemory,
  { tags, terms, subjects = [] }: ThemeText & { readonly subjects?: readonly TagSubject[] },
  isLong: boolean,
): Placed | undefined => {
  const ofTag = themeOfTags(memory, tags) ?? themeOfSubjects(memory, subjects)
  if (ofTag !== undefined) return { theme: ofTag, by: 'tag' }
  const like = themeOfTags(memory, terms) ?? likeliestTheme(memory, terms, isLong)
  return like === undefined ? undefined : { theme: like, by: 'likeness' }
}

/** The theme of the rarest of these hashes that is the tag of a theme. */
const themeOfTags = ({ themes, textsWith }: ThemeMemory, hashes: readonly number[]): number | undefined => {
  let found: number | undefined
  let fewest = Infinity
  for (const { number, tags } of themes) {
    for (const tag of tags) {
      const texts = textsWith.get(tag) ?? 0
      if (texts >= fewest || !hashes.includes(tag)) continue
      found = number
      fewest = texts
    }
  }
  return found
}

/** The theme of the first subject that shares a word with one: the theme with most of its words. */
const themeOfSubjects = ({ themes }: ThemeMemory, subjects: readonly TagSubject[]): number | undefined => {
  for (const { words } of subjects) {
    let found: number | undefined
    let most = 0
    for (const { number, subject } of themes) {
      const shared = words.filter((word) => subject.includes(word)).length
      if (shared <= most) continue
      most = shared
      found = number
    }
    if (found !== undefined) return found
  }
  return undefined
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
 * The likeliest theme by the terms, as a mixture of themes with independent terms. Undefined if the
 * theme knows none of the terms. `isLong`: the text has waited long.
 */
const likeliestTheme = (memory: ThemeMemory, terms: readonly number[], isLong: boolean): number | undefined => {
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
      score.isKnown ||= known >= (isLong ? 1 : KNOWN_TEXTS) && known > KNOWN_LIFT * usual * score.texts
    }
  }
  let found: number | undefined
  let best = -Infinity
  for (const [theme, { value, isKnown }] of scores) {
    if (value <= best || (isLong && !isKnown)) continue
    best = value
    found = isKnown ? theme : undefined
  }
  return found
}

const NO_TEXTS: ReadonlyMap<Cell, number> = new Map()

/** `texts`: of the theme. `lastTerm`: the last term that it has counted. */
type ThemeScore = {
  value: number
  isKnown: boolean
  lastTerm: number | undefined
  readonly texts: number
  readonly sureCell: Cell
  readonly likeCell: Cell
}

const scoreWithoutTerms = ({ sums }: ThemeMemory, theme: number, terms: number): ThemeScore => {
  const [sureCell, likeCell] = [themeCell({ theme, by: 'tag' }), themeCell({ theme, by: 'likeness' })]
  const [sure, like] = [sumOf(sums, ALL, sureCell), sumOf(sums, ALL, likeCell)]
  const weighed = sure + LIKENESS_WEIGHT * like + USUAL_TEXTS
  return {
    value: Math.log(sure + like + EVEN_TEXTS) - terms * Math.log(weighed),
    isKnown: false,
    lastTerm: undefined,
    texts: sure + like,
    sureCell,
    likeCell,
  }
}

/**
 * Opens a theme for the first tag of the text that recurs in texts without a theme. A tag without a
 * subject opens none, nor does one that shares a word of its subject with a theme: two themes with
 * one subject would split its texts.
 */
const openTheme = (
  memory: ThemeMemory,
  decisions: ThemeDecisions,
  { tags, subjects }: Pick<NewText, 'tags' | 'subjects'>,
): void => {
  const { themes, recent } = memory
  if (tags.length === 0 || themes.filter(({ isMerged = false }) => !isMerged).length >= MOST_THEMES) return
  const others = recent.slice(0, -1).filter(({ hasTheme }) => !hasTheme)
  const least = OPENING_TEXTS + Math.floor(themes.length / THEMES_PER_TEXT)
  const at = subjects.findIndex((subject, place) => {
    if (subject.words.length === 0 || themeOfSubjects(memory, [subject]) !== undefined) return false
    const texts = 1 + others.filter((text) => text.tags.includes(tags[place]!)).length
    return texts >= least + (subject.isPlain ? 0 : ODD_TAG_TEXTS)
  })
  if (at < 0) return
  const number = Math.max(0, ...themes.map((theme) => theme.number)) + 1
  const theme: ThemeByTags = { number, tags: [tags[at]!], subject: subjects[at]!.words }
  themes.push(theme)
  decisions.opened.push(theme)
  for (let age = recent.length - 1; age >= 0; age--) placeWaiting(memory, decisions, { age, isLong: false })
}

/** Places a recent text that has no theme yet. */
const placeWaiting = (
  memory: ThemeMemory,
  decisions: ThemeDecisions,
  { age, isLong }: { age: number; isLong: boolean },
): void => {
  const at = memory.recent.length - 1 - age
  const text = memory.recent[at]
  if (text === undefined || text.hasTheme) return
  const placed = placeText(memory, text, isLong)
  if (placed === undefined) return
  put(memory, decisions, { text, placed })
  memory.recent[at] = { ...text, hasTheme: true }
}
