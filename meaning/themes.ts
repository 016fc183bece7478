import type { TagSubject } from '../tagger/subject.ts'
import { type Placed, themeCell } from './cells.ts'
import { likeliestTheme } from './likeliest-theme.ts'
import { addShare, ALL, type Sums, sumOf, textsWithTheme } from './sums.ts'

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
 * A theme with more than this share of the texts with a theme says little, such as `course` where all
 * texts are about courses. Its texts still open themes for their other tags, with so many texts more.
 */
const LARGE_SHARE = 1 / 3
const LARGE_THEME_TEXTS = 2
/**
 * A text that is like no theme waits. After so many others came, less likeness is enough: it goes to
 * the likeliest of the themes that have a text with one of its terms.
 */
const WAITING_TEXTS = 200

/** A waiting text gets a try each time that so many more texts came. */
const RETRY_TEXTS = 50

/** Gives themes to the texts of a job in their order, and to texts that wait. Opens themes. */
export const decideThemes = (memory: ThemeMemory, texts: readonly NewText[]): ThemeDecisions => {
  const decisions: ThemeDecisions = { placed: [], opened: [] }
  for (const { known, subjects, ...text } of texts) {
    let placed = known ?? placeText(memory, { ...text, subjects }, false)
    const isInLarge = placed !== undefined && isLarge(memory, placed.theme)
    if ((placed?.by !== 'tag' || isInLarge) && openTheme(memory, decisions, { tags: text.tags, subjects, isInLarge }))
      placed = known ?? placeText(memory, { ...text, subjects }, false)
    if (known === undefined && placed !== undefined) put(memory, decisions, { text, placed })
    memory.recent.push({ ...text, hasTheme: placed !== undefined })
    if (memory.recent.length > RECENT_TEXTS) memory.recent.shift()
    for (let age = RETRY_TEXTS; age < memory.recent.length; age += RETRY_TEXTS)
      placeWaiting(memory, decisions, { age, isLong: age > WAITING_TEXTS })
  }
  return decisions
}

const isLarge = ({ sums }: ThemeMemory, theme: number): boolean =>
  sumOf(sums, ALL, themeCell({ theme, by: 'tag' })) > LARGE_SHARE * textsWithTheme(sums)

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

/**
 * Opens a theme for the first tag of the text that recurs in recent texts without a theme; of a text in
 * a large theme, in all recent texts. A tag without a subject opens none, nor does one that shares a
 * word of its subject with a theme: two themes with one subject would split its texts. Returns whether
 * a theme has been opened.
 */
const openTheme = (
  memory: ThemeMemory,
  decisions: ThemeDecisions,
  { tags, subjects, isInLarge }: Pick<NewText, 'tags' | 'subjects'> & { readonly isInLarge: boolean },
): boolean => {
  const { themes, recent } = memory
  if (tags.length === 0 || themes.filter(({ isMerged = false }) => !isMerged).length >= MOST_THEMES) return false
  const others = isInLarge ? recent : recent.filter(({ hasTheme }) => !hasTheme)
  const least = OPENING_TEXTS + Math.floor(themes.length / THEMES_PER_TEXT) + (isInLarge ? LARGE_THEME_TEXTS : 0)
  const at = subjects.findIndex((subject, place) => {
    if (subject.words.length === 0 || themeOfSubjects(memory, [subject]) !== undefined) return false
    const texts = 1 + others.filter((text) => text.tags.includes(tags[place]!)).length
    return texts >= least + (subject.isPlain ? 0 : ODD_TAG_TEXTS)
  })
  if (at < 0) return false
  const number = Math.max(0, ...themes.map((theme) => theme.number)) + 1
  const theme: ThemeByTags = { number, tags: [tags[at]!], subject: subjects[at]!.words }
  themes.push(theme)
  decisions.opened.push(theme)
  for (let age = recent.length - 1; age >= 0; age--) placeWaiting(memory, decisions, { age, isLong: false })
  return true
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
