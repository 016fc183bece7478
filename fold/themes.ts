import type { JsonObject } from '../contract/json.ts'
import { numberAtAcceptance, type SubmissionOf } from '../contract/submission.ts'
import type { Changes } from './changes.ts'
import type { CorrectionNumbers, StoredRowOf } from './stored.ts'

const EDITABLE = ['name', 'isHidden', 'mergedInto'] as const

/** The themes that people make and edit in a stride. */
export class Themes {
  /** The numbers of the edits of each theme that exists. */
  readonly #numbers = new Map<string, CorrectionNumbers>()
  readonly #edits: Changes['theme_edit'] = []

  learn({ key, edited = {} }: StoredRowOf<'theme'>): void {
    this.#numbers.set(key, edited)
  }

  has(id: string): boolean {
    return this.#numbers.has(id)
  }

  create(submission: SubmissionOf<'create_theme'>): void {
    const { submissionId, body } = submission
    const numbers = { name: numberAtAcceptance(submission) }
    this.#numbers.set(submissionId, numbers)
    this.#edits.push({ id: submissionId, is_new: true, given: { name: body.name }, numbers })
  }

  /**
   * Edits a theme that exists. A replay sets no member that an edit has set that was accepted after
   * the original. Returns whether the edit sets a member.
   */
  edit(submission: SubmissionOf<'edit_theme'>): boolean {
    const { body, originalNumber } = submission
    const former = this.#numbers.get(body.id)!
    const members = EDITABLE.filter(
      (member) =>
        body[member] !== undefined && (originalNumber === undefined || (former[member] ?? 0) <= originalNumber),
    )
    if (members.length === 0) return false
    const given: JsonObject = Object.fromEntries(members.map((member) => [member, body[member]!]))
    const numbers = Object.fromEntries(members.map((member) => [member, numberAtAcceptance(submission)]))
    this.#numbers.set(body.id, { ...former, ...numbers })
    this.#edits.push({ id: body.id, is_new: false, given, numbers })
    return true
  }

  writeTo(changes: Changes): void {
    changes.theme_edit.push(...this.#edits)
  }
}
