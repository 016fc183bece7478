import type { Cell } from './sums.ts'

/** A person, a tag, or the likeness to other texts gave a text its theme. */
export type PlacedBy = 'person' | 'tag' | 'likeness'
export type Placed = { readonly theme: number; readonly by: PlacedBy }

/** Blame, neither, praise. */
export const MOODS = [-1, 0, 1] as const
export type MoodClass = (typeof MOODS)[number]

export const KINDS = ['problem', 'request', 'praise', 'question', 'other'] as const
export type TextKind = (typeof KINDS)[number]

/**
 * Texts that a person or a tag placed have a cell of their own: they tell more about the theme than
 * texts that are only like them.
 */
export const themeCell = ({ theme, by }: Placed): Cell => 2 * theme + (by === 'likeness' ? 1 : 0)

export const moodCell = (mood: MoodClass): Cell => -2 - mood

export const kindCell = (kind: TextKind): Cell => -4 - KINDS.indexOf(kind)
