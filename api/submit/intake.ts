import type { GenericSchema } from 'valibot'
import type { Idempotency } from '../../contract/idempotency.ts'
import type { JsonValue } from '../../contract/json.ts'
import type { Operation, SubmissionOf } from '../../contract/submission.ts'
import type { Span } from '../../runtime/tracing.ts'
import type { Admission, Bucket, LogState } from '../../queue/admission/admission.ts'
import type { Refusal } from '../refusal.ts'
import type { IntakeDependencies } from './intake-dependencies.ts'

/** A request below the base path. `span`: of a request that is traced. */
export type Arrival = {
  readonly request: Request
  readonly token: string | undefined
  readonly span: Span | undefined
}

/** What the steps find out about a submission, in this order. */
type Findings<O extends Operation> = {
  workspaceId: string
  /** The body as it was parsed. */
  value: JsonValue
  /** The body as it will be stored. */
  body: SubmissionOf<O>['body']
  idempotency: Idempotency | undefined
  /** What the first request with the same idempotency key came to. */
  former: Admitted | Refused | undefined
  admitted: Admitted
}

/**
 * A request to submit, or an item of a batch, on its way to the answer. Each step takes it and
 * hands it on with what it has found out; `Known` says which of this is there.
 */
export type Intake<Known extends keyof Findings<Operation> = never, O extends Operation = Operation> = Arrival & {
  readonly kind: AnySubmissionKind
  /** The idempotency key, of a header or of an item. */
  readonly key: string | null
  /** Of an item of a batch: how many of its problems its answer has room for. */
  readonly mostProblems?: number
} & Readonly<Pick<Findings<O>, Known>>

export type Valid = 'workspaceId' | 'body' | 'idempotency'

/** Accepted now, or before under the same idempotency key. */
export type Admitted = Extract<Admission, { outcome: 'admitted' | 'repeated' }>

/** Turned away. `bucket`: what is left of the limit, where a step looked at it. */
export type Refused = { refusal: Refusal; bucket?: Bucket | undefined }

export const isRefused = (value: object): value is Refused => 'refusal' in value

export type Answer = { status: number; body: object }

/** One operation of the interface that takes submissions, as data. */
export type SubmissionKind<O extends Operation> = {
  operation: O
  needs: 'submit' | 'admin'
  schema: GenericSchema<unknown, SubmissionOf<O>['body']>
  /** Refuses a valid body for a reason that the schema cannot see. */
  checkBody?(body: SubmissionOf<O>['body']): Refusal | undefined
  /**
   * Refuses by what is stored, before the admission. Such operations look their idempotency key up
   * first.
   */
  checkStored?(dependencies: IntakeDependencies, intake: Intake<Valid, O>, log: LogState): Promise<Refusal | undefined>
  answer(dependencies: IntakeDependencies, intake: Intake<Valid | 'admitted', O>): Promise<Answer> | Answer
}

/**
 * What the steps take: any kind. The functions of a kind are methods, whose parameters the compiler
 * compares loosely; `Pick` makes it compare them one by one.
 */
export type AnySubmissionKind = Pick<SubmissionKind<Operation>, keyof SubmissionKind<Operation>>
