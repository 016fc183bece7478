import * as v from 'valibot'
import { about } from './fields.ts'
import type { Operation } from './submission.ts'

const REQUESTS: Readonly<Record<Operation, string>> = {
  create_feedback: 'POST /feedbacks',
  identify_contact: 'POST /contacts/identify',
  identify_account: 'POST /accounts/identify',
  submit_conversation: 'POST /conversations',
  purge_contact: 'POST /contacts/purge',
  correct_feedback: 'PATCH /feedbacks/{id}',
  delete_feedback: 'DELETE /feedbacks/{id}',
  create_theme: 'POST /themes',
  edit_theme: 'PATCH /themes/{id}',
}

const STATES = {
  queued: 'waits to be applied, or is a purge whose records are being removed',
  applied: 'is stored, or is a purge that has ended',
  superseded:
    'processed late, as a replay or after a failover of Redis, and without effect because a newer submission had replaced its record; or a correction or an edit whose record did not exist',
  purged: 'was dead, or waited to be replayed, when a purge of its contact removed it',
  dead: 'set aside with a reason; operators can replay it unless it is a purge',
}
export type SubmissionState = keyof typeof STATES

/** An enumeration whose description explains each value. */
const enumeration = <Value extends string>(description: string, meanings: Readonly<Record<Value, string>>) =>
  about(
    v.picklist(Object.keys(meanings) as Value[]),
    `${description} ${Object.entries<string>(meanings)
      .map(([value, meaning]) => `\`${value}\`: ${meaning}`)
      .join('; ')}.`,
  )

export const submissionState = enumeration('What became of the submission.', STATES)
const count = v.pipe(v.number(), v.integer(), v.minValue(0))
const time = v.pipe(v.string(), v.metadata({ format: 'date-time' }))

/** The state of a submission. Times are RFC 3339 in UTC. */
export const receipt = about(
  v.object({
    id: about(v.pipe(v.string(), v.uuid()), 'The id that came in `Submission-Id`.'),
    operation: enumeration('The operation of the submission.', REQUESTS),
    state: submissionState,
    attempts: about(
      count,
      '0 while it waits to be processed for the first time. Of a submission that died: the attempts until then. ' +
        'Of a finished purge that found data: the attempts to remove this data. Otherwise 1.',
    ),
    acceptedAt: about(time, 'When it was accepted.'),
    finishedAt: about(v.nullable(time), 'When it reached its final state; null while it is queued.'),
    error: about(v.nullable(v.string()), 'Why it is dead, without personal data; null otherwise.'),
    counts: about(
      v.exactOptional(v.record(v.string(), count)),
      'Of a purge that has ended: the number of removed records, by kind.',
    ),
    consumers: about(
      v.exactOptional(
        v.object({
          total: about(count, 'The webhooks of the workspace.'),
          confirmed: about(count, 'The webhooks that have confirmed all changes of the purge.'),
        }),
      ),
      'Of a finished purge that found data: how many webhooks have confirmed the removal.',
    ),
    identifiers: about(
      v.exactOptional(
        v.object({
          id: about(v.nullable(v.string()), 'The hash of the `id`; null if the request had none.'),
          email: about(v.nullable(v.string()), 'The hash of the `email`; null if the request had none.'),
        }),
      ),
      'Of a purge that a worker has decided: keyed hashes of the `id` and `email` in the request.',
    ),
  }),
  'What became of an accepted submission. Nothing in it is personal.',
)
export type Receipt = v.InferOutput<typeof receipt>
export type PurgeIdentifiers = NonNullable<Receipt['identifiers']>
export type PurgeConsumers = NonNullable<Receipt['consumers']>
