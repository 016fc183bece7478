import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { asUuid } from '../../contract/identity/keys.ts'
import { sourceForm } from '../../insights/settings-page.ts'
import type { Form } from '../../insights/site.ts'
import type { InsightReads } from '../../insights/reads.ts'
import type { Credential } from '../authenticate.ts'
import { correctFeedback, deleteFeedback } from '../operations/corrections.ts'
import { createTheme, editTheme } from '../operations/themes.ts'
import { putSource, type SourceDependencies } from '../reads/sources.ts'
import type { AnySubmissionKind } from '../submit/intake.ts'
import { submit } from '../submit/submit.ts'

/** The fields of a form, and where it was sent. */
type SentForm = {
  readonly request: Request
  readonly token: Credential
  readonly path: string
  readonly fields: URLSearchParams
}

/** `own`: the reads of the workspace. */
type ChangeDependencies = SourceDependencies & { readonly own: InsightReads }

/** A change that was made. `undo`: the form that takes it back, if that is possible. */
type MadeChange = { done: string; back: string; undo?: Form & { source?: string } }
type NotChanged = { status: number; problems: readonly string[] }

const WAIT = { 'Content-Type': 'application/json', Prefer: 'wait=10' }

/** Makes the change of a form through the same steps as the API; undefined if there is no such form. */
export const makeChange = (
  dependencies: ChangeDependencies,
  sent: SentForm,
): Promise<MadeChange | NotChanged> | undefined => {
  const [, folder, id = ''] = sent.path.split('/')
  const own = asUuid(id)
  if (folder === 'feedback' && own !== undefined) return changeFeedback(dependencies, sent, own)
  if (folder === 'themes' && own !== undefined) return changeTheme(dependencies, sent, own)
  if (folder === 'themes' && id === '') return makeTheme(dependencies, sent)
  if (folder === 'settings' && id === '') return setSource(dependencies, sent)
  return undefined
}

type ChangeAsked = { kind: AnySubmissionKind; target?: string; body: JsonObject }

/** Submits as the API does, and waits until the change can be read. */
const submitChange = async (
  { intake }: SourceDependencies,
  { request, token }: SentForm,
  { kind, target, body }: ChangeAsked,
): Promise<{ answer: JsonObject; isDone: boolean } | NotChanged> => {
  const inner = new Request(request.url, { method: 'POST', headers: WAIT, body: JSON.stringify(body) })
  const response = await submit(intake, kind, { request: inner, token, span: undefined, target })
  const answer = (await response.json()) as JsonObject
  if (!response.ok) return { status: response.status, problems: problemsOf(answer) }
  return { answer, isDone: response.headers.get('submission-state') === 'applied' }
}

/** The texts of the error of an answer of the API. */
const problemsOf = (answer: unknown): readonly string[] => {
  const { error } = answer as { error: string | readonly { message: string }[] }
  return typeof error === 'string' ? [error] : error.map(({ message }) => message)
}

const sayDone = (isDone: boolean, done: string): string =>
  isDone ? done : `${done} It waits to be stored: pages show it in a moment.`

/** The lines of a field, without blank ones. */
const linesOf = (text: string): string[] =>
  text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')

const bodyOf = (fields: URLSearchParams): JsonObject => {
  try {
    const body = JSON.parse(fields.get('body') ?? '') as JsonValue
    return isJsonObject(body) ? body : {}
  } catch {
    return {}
  }
}

const changeFeedback = async (
  dependencies: ChangeDependencies,
  sent: SentForm,
  id: string,
): Promise<MadeChange | NotChanged> => {
  const { fields, path } = sent
  const act = fields.get('act') ?? ''
  if (act === 'delete') {
    if (fields.get('sure') !== 'yes') return { status: 400, problems: ['Tick the box to delete the feedback.'] }
    const deleted = await submitChange(dependencies, sent, { kind: deleteFeedback, target: id, body: {} })
    if ('problems' in deleted) return deleted
    return { done: sayDone(deleted.isDone, 'The feedback is deleted.'), back: '/feedback' }
  }
  const body = act === 'tags' ? { tags: linesOf(fields.get('tags') ?? '') } : memberOf(act, fields)
  const former = await dependencies.own.corrections(id)
  const saved = await submitChange(dependencies, sent, { kind: correctFeedback, target: id, body })
  if ('problems' in saved) return saved
  const undone = Object.fromEntries(Object.keys(body).map((member) => [member, former[member] ?? null]))
  const undo = { path, act: 'body', submit: 'Undo', body: undone }
  return { done: sayDone(saved.isDone, 'The correction is saved.'), back: path, undo }
}

/** One member with the value of its field; an empty field takes a correction back. */
const memberOf = (act: string, fields: URLSearchParams): JsonObject =>
  act === 'body' ? bodyOf(fields) : { [act]: fields.get(act)?.trim() || null }

const changeTheme = async (
  dependencies: ChangeDependencies,
  sent: SentForm,
  id: string,
): Promise<MadeChange | NotChanged> => {
  const { fields, path } = sent
  const act = fields.get('act') ?? ''
  if (act === 'unsplit') return takeBackSplit(dependencies, sent, id)
  const body = memberOf(act, fields)
  const former = await dependencies.own.themeEdits(id)
  const saved = await submitChange(dependencies, sent, { kind: editTheme, target: id, body })
  if ('problems' in saved) return saved
  const undone = Object.fromEntries(Object.keys(body).map((member) => [member, former[member] ?? null]))
  const undo = { path, act: 'body', submit: 'Undo', body: undone }
  return { done: sayDone(saved.isDone, 'The theme is changed.'), back: path, undo }
}

/** Splits chosen feedback off into a new theme. */
const makeTheme = async (dependencies: ChangeDependencies, sent: SentForm): Promise<MadeChange | NotChanged> => {
  const feedbackIds = sent.fields.getAll('feedbackIds')
  const former: Record<string, string[]> = {}
  for (const id of feedbackIds.filter((each) => asUuid(each) !== undefined)) {
    const { themeId } = await dependencies.own.corrections(id)
    const theme = typeof themeId === 'string' ? themeId : NO_THEME
    former[theme] = [...(former[theme] ?? []), id]
  }
  const name = sent.fields.get('name') ?? ''
  const made = await submitChange(dependencies, sent, { kind: createTheme, body: { name, feedbackIds } })
  if ('problems' in made) return made
  const path = `/themes/${(made.answer as { themeId: string }).themeId}`
  const undo = { path, act: 'unsplit', submit: 'Undo', body: former }
  return { done: sayDone(made.isDone, 'The new theme has the chosen feedback.'), back: path, undo }
}

/** Feedback that no person had put into a theme. */
const NO_THEME = ''

/** Gives feedback back to the themes into which people had put it, and hides the theme of the split. */
const takeBackSplit = async (
  dependencies: ChangeDependencies,
  sent: SentForm,
  id: string,
): Promise<MadeChange | NotChanged> => {
  const { [NO_THEME]: removedFeedbackIds, ...former } = bodyOf(sent.fields)
  for (const [target, feedbackIds] of Object.entries(former)) {
    const returned = await submitChange(dependencies, sent, { kind: editTheme, target, body: { feedbackIds } })
    if ('problems' in returned) return returned
  }
  const body = { isHidden: true, ...(removedFeedbackIds !== undefined && { removedFeedbackIds }) }
  const hidden = await submitChange(dependencies, sent, { kind: editTheme, target: id, body })
  if ('problems' in hidden) return hidden
  return { done: sayDone(hidden.isDone, 'The split is taken back.'), back: '/themes' }
}

const setSource = async (
  dependencies: ChangeDependencies,
  { request, token, fields }: SentForm,
): Promise<MadeChange | NotChanged> => {
  const source = fields.get('source') ?? ''
  const former = (await dependencies.own.sources()).find((each) => each.source === source)
  const body = fields.get('act') === 'body' ? bodyOf(fields) : sourceForm(fields)
  const inner = new Request(request.url, { method: 'PUT', headers: WAIT, body: JSON.stringify(body) })
  const response = await putSource(dependencies, { request: inner, token, span: undefined }, source)
  const answer = (await response.json()) as JsonObject
  if (!response.ok) return { status: response.status, problems: problemsOf(answer) }
  const { scale = null, isScaleGiven = false, link = null, fields: declared = [] } = former ?? {}
  const undone: JsonObject = {
    ...(isScaleGiven && { scale: scale === null ? null : [...scale] }),
    link,
    fields: declared.map((field) => ({ ...field })),
  }
  const undo = { path: '/settings', act: 'body', submit: 'Undo', body: undone, source }
  return { done: 'The settings of the source are saved.', back: '/settings', undo }
}
