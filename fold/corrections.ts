import { givenTags } from '../contract/feedback-record.ts'
import type { JsonObject } from '../contract/json.ts'
import { numberAtAcceptance, type SubmissionOf } from '../contract/submission.ts'
import type { Changes } from './changes.ts'
import type { CorrectionNumbers } from './stored.ts'

/**
 * What the corrections of a stride set on a feedback. `formerTags`: tags that a later correction of
 * the stride replaces.
 */
type Corrected = { values: JsonObject; numbers: Record<string, number>; formerTags: Set<string> }

/** The corrections of a stride. `save` lays them over what the source has sent. */
export class Corrections {
  readonly #stored = new Map<string, CorrectionNumbers>()
  readonly #corrected = new Map<string, Corrected>()

  learn(id: string, numbers: CorrectionNumbers): void {
    this.#stored.set(id, numbers)
  }

  /** A replay sets no member that a correction has set that was accepted after the original. */
  correct(submission: SubmissionOf<'correct_feedback'>): 'applied' | 'superseded' {
    const { body, originalNumber } = submission
    const { id, ...given } = body
    const former = this.#corrected.get(id) ?? {
      values: {},
      numbers: { ...this.#stored.get(id) },
      formerTags: new Set(),
    }
    const acceptedAt = numberAtAcceptance(submission)
    const { values, numbers, formerTags } = former
    const replaced = (values['tags'] ?? []) as string[]
    let state: 'applied' | 'superseded' = 'superseded'
    for (const [member, value] of Object.entries(given)) {
      if (value === undefined || (originalNumber !== undefined && (numbers[member] ?? 0) > originalNumber)) continue
      // A feedback that is not hidden has no trace of a correction.
      values[member] = member === 'isHidden' ? value || null : Array.isArray(value) ? givenTags(value)! : value
      numbers[member] = acceptedAt
      state = 'applied'
    }
    if (state === 'superseded') return state
    if (given.tags !== undefined) for (const tag of replaced) formerTags.add(tag)
    this.#corrected.set(id, former)
    return state
  }

  writeTo(changes: Changes): void {
    for (const [id, { values, numbers, formerTags }] of this.#corrected)
      changes.feedback_correction.push({ id, corrections: values, numbers, former_tags: [...formerTags] })
  }
}
