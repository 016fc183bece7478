import { newTheme, themeEdit } from '../../contract/theme-edit.ts'
import type { SubmissionKind } from '../submit/intake.ts'
import { answerDecided, SUCCESS } from './corrections.ts'

/** POST /themes */
export const createTheme: SubmissionKind<'create_theme'> = {
  operation: 'create_theme',
  needs: 'edit',
  schema: newTheme,
  answer: (dependencies, intake) =>
    answerDecided(dependencies, intake, { status: 201, body: { themeId: intake.admitted.submissionId } }),
}

/** PATCH /themes/{id} */
export const editTheme: SubmissionKind<'edit_theme'> = {
  operation: 'edit_theme',
  needs: 'edit',
  schema: themeEdit,
  answer: (dependencies, intake) => answerDecided(dependencies, intake, SUCCESS),
}
