import type { GenericSchema } from 'valibot'
import type { Realm } from '../../contract/identity/own-id.ts'
import type { AnswerReferences } from '../../contract/identity/reference.ts'
import { type Sayings, sayingsOf } from '../../contract/identity/sayings.ts'
import type { JobOf, Operation, SubmissionJob } from '../../contract/job.ts'
import type { Admission } from '../../queue/admission.ts'
import type { Ingress } from '../submit/ingress.ts'
import type { Refusal } from '../refusal.ts'

/**
 * What both the admission and the answer go by, made once: making the hashes of a feedback anew wherever they were needed
 * took a third of its request's processor time.
 */
export type Grounds = { sayings: Sayings; references?: AnswerReferences }

export type Admitted = Extract<Admission, { outcome: 'admitted' | 'repeated' }>
export type Answer = { status: number; body: object }

/** One operation of the interface that takes submissions. */
export type SubmissionKind<O extends Operation, G extends Grounds = Grounds> = {
  operation: O
  needs: 'submit' | 'admin'
  schema: GenericSchema<unknown, JobOf<O>['body']>
  /** Refuses a well-formed body that cannot be taken in all the same, for a reason that the schema cannot see. */
  check?(ingress: Ingress, draft: JobOf<O>, request: Request): Promise<Refusal | undefined> | Refusal | undefined
  groundsOf(realm: Realm, draft: JobOf<O>): G
  respond(ingress: Ingress, job: JobOf<O>, known: { grounds: G; admitted: Admitted }): Promise<Answer> | Answer
}

/**
 * What the pipeline in `submit.ts` takes: every kind. The functions of a kind are methods, whose parameters the compiler
 * compares loosely; `Pick` makes it compare them one by one.
 */
export type AnySubmissionKind = Pick<SubmissionKind<Operation>, keyof SubmissionKind<Operation>>

/** The grounds of an operation whose answer names no contact and no project. */
export const sayingsAlone = (realm: Realm, draft: SubmissionJob): Grounds => ({ sayings: sayingsOf(realm, draft) })
