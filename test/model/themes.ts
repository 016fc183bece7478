import type { SubmissionOf } from '../../contract/submission.ts'
import { correctFeedback, type Feedback } from './feedbacks.ts'

export type Theme = {
  readonly name: string | null
  readonly isHidden: boolean
  readonly mergedInto: string | null
  /** The number at acceptance of the newest edit of each member. */
  readonly numbers: Readonly<Record<string, number>>
}

type ThemeState = { themes: Map<string, Theme>; feedbacks: Map<string, Feedback> }

export const createTheme = (state: ThemeState, submission: SubmissionOf<'create_theme'>): 'applied' | 'superseded' => {
  const { submissionId: id, number, originalNumber, body } = submission
  if (state.themes.has(id) || !body.feedbackIds.some((each) => state.feedbacks.has(each))) return 'superseded'
  const numbers = { name: originalNumber ?? number }
  state.themes.set(id, { name: body.name, isHidden: false, mergedInto: null, numbers })
  place(state, submission, { ids: body.feedbackIds, themeId: id })
  return 'applied'
}

export const editTheme = (state: ThemeState, submission: SubmissionOf<'edit_theme'>): 'applied' | 'superseded' => {
  const { number, originalNumber, body } = submission
  const theme = state.themes.get(body.id)
  if (!theme || (body.mergedInto != null && !state.themes.has(body.mergedInto))) return 'superseded'
  const isFresh = (member: string): boolean =>
    originalNumber === undefined || (theme.numbers[member] ?? 0) <= originalNumber
  const fresh = (['name', 'isHidden', 'mergedInto'] as const).filter(
    (member) => body[member] !== undefined && isFresh(member),
  )
  if (fresh.includes('mergedInto') && body.mergedInto != null) endCircle(state, body.id, body.mergedInto)
  state.themes.set(body.id, {
    name: fresh.includes('name') ? (body.name ?? null) : theme.name,
    isHidden: fresh.includes('isHidden') ? body.isHidden === true : theme.isHidden,
    mergedInto: fresh.includes('mergedInto') ? (body.mergedInto ?? null) : theme.mergedInto,
    numbers: { ...theme.numbers, ...Object.fromEntries(fresh.map((member) => [member, originalNumber ?? number])) },
  })
  const isPlaced = place(state, submission, { ids: body.feedbackIds ?? [], themeId: body.id })
  const isRemoved = place(state, submission, { ids: body.removedFeedbackIds ?? [], themeId: null })
  return fresh.length > 0 || isPlaced || isRemoved ? 'applied' : 'superseded'
}

const place = (
  state: ThemeState,
  submission: SubmissionOf<'create_theme' | 'edit_theme'>,
  { ids, themeId }: { ids: readonly string[]; themeId: string | null },
): boolean => {
  const states = ids.map((id) =>
    correctFeedback(state, { ...submission, operation: 'correct_feedback', body: { id, themeId } }),
  )
  return states.includes('applied')
}

/** The merge that leads from the target back to the theme ends. */
const endCircle = ({ themes }: ThemeState, id: string, target: string): void => {
  for (let at: string | null = target; at !== null;) {
    const theme: Theme = themes.get(at)!
    if (theme.mergedInto === id) themes.set(at, { ...theme, mergedInto: null })
    at = theme.mergedInto === id ? null : theme.mergedInto
  }
}

export const themeRows = ({ themes }: Pick<ThemeState, 'themes'>) =>
  [...themes].map(([id, { name, isHidden, mergedInto, numbers }]) => ({
    id,
    given_name: name,
    is_hidden: isHidden,
    merged_into: mergedInto,
    shown_id: shownId(themes, id),
    edit_numbers: numbers,
  }))

const shownId = (themes: ReadonlyMap<string, Theme>, id: string): string => {
  const into = themes.get(id)!.mergedInto
  return into === null ? id : shownId(themes, into)
}
