import { type PlacedBy, TEXT_KINDS, type TextKind } from '../contract/kinds-of-texts.ts'
import type { Cell } from './sums.ts'

export type Placed = { readonly theme: number; readonly by: PlacedBy }

/** Blame, neither, praise. */
export const MOODS = [-1, 0, 1] as const
export type MoodClass = (typeof MOODS)[number]

/**
 * Texts that a person or a tag placed have a cell of their own: they tell more about the theme than
 * texts that are only like them.
 */
export const themeCell = ({ theme, by }: Placed): Cell => 2 * theme + (by === 'likeness' ? 1 : 0)

/** The theme of a cell. Of a mood or kind, a number that no theme has. */
export const themeOfCell = (cell: Cell): number => Math.floor(cell / 2)

export const moodCell = (mood: MoodClass): Cell => -2 - mood

export const kindCell = (kind: TextKind): Cell => -4 - TEXT_KINDS.indexOf(kind)
