import type { HashKey } from '../../contract/identity/keys.ts'
import type { PurgeRequest } from '../../contract/purge-request.ts'
import type { Idempotency, Operation, SubmissionOf } from '../../contract/submission.ts'
import type { Admission, Admit, Bucket, LogState, RateLimit } from '../../queue/admission/call-admit.ts'
import type { Authenticate } from '../authenticate.ts'
import type { Arrival } from '../http/arrival.ts'
import type { OnFault } from '../http/request-id.ts'
import type { Needs, Refusal, Unavailable } from '../http/refusal.ts'
import type { ResolveFeedbackId } from '../resolve-feedback-id.ts'
import type { ResolveReferences } from '../resolve-references.ts'
import type { AwaitFinished } from './await-finished.ts'
import type { AwaitProgress } from './await-progress.ts'
import type { BodiesInHand } from '../http/bodies-in-hand.ts'
import type { PressureWatch } from './pressure.ts'
import type { GenericSchema } from 'valibot'
import type { JsonValue } from '../../contract/json.ts'

/** The results that the steps add to an intake, in this order. */
type Results<O extends Operation> = {
  workspaceId: string
  /** The parsed body. */
  value: JsonValue
  /** The body as it will be stored. */
  body: SubmissionOf<O>['body']
  idempotency: Idempotency | undefined
  /** The answer to the intake when its key was looked up; undefined if the look-up was left out. */
  judged: Admission | undefined
  admitted: Admitted
}

/**
 * A request to submit, or an item of a batch, on its way to the answer. Each step returns the
 * intake with a further result. `Known` names the results so far.
 */
export type Intake<Known extends keyof Results<Operation> = never, O extends Operation = Operation> = Arrival & {
  readonly kind: AnySubmissionKind
  /** The idempotency key, from a header or from an item. */
  readonly key: string | null
  /** For an item of a batch: the most problems of the item that the answer reports. */
  readonly mostProblems?: number
  /** The own id in the path, which becomes the `id` of the body; null if it is malformed. */
  readonly target?: string | null | undefined
} & Readonly<Pick<Results<O>, Known>>

export type Valid = 'workspaceId' | 'body' | 'idempotency'

/** Accepted by this request or by an earlier one with the same idempotency key. */
type Admitted = Extract<Admission, { outcome: 'admitted' | 'repeated' }>

/** An intake that ends in a refusal. `bucket`: the rest of the limit, if a step has read it. */
export type RefusedIntake = { refusal: Refusal; bucket?: Bucket | undefined }

export const isRefusedIntake = (value: object): value is RefusedIntake => 'refusal' in value

export type StatusAndBody = { status: number; body: object }

/** An operation that accepts submissions, as data. */
export type SubmissionKind<O extends Operation> = {
  operation: O
  needs: Needs
  schema: GenericSchema<unknown, SubmissionOf<O>['body']>
  /** The request has no body: the id in the path is enough. */
  hasNoBody?: true
  /** Refuses a valid body for a reason that a schema cannot express. */
  refuseBody?(body: SubmissionOf<O>['body']): Refusal | undefined
  /**
   * Refuses by the stored data, before the admission. An operation with this check looks up its
   * idempotency key first.
   */
  refuseByStored?(
    dependencies: IntakeDependencies,
    intake: Intake<Valid, O>,
    log: LogState,
  ): Promise<Refusal | undefined>
  answer(
    dependencies: IntakeDependencies,
    intake: Intake<Valid | 'admitted', O>,
  ): Promise<StatusAndBody> | StatusAndBody
}

/**
 * Any kind, for the steps. `Pick` makes the compiler compare kinds member by member. It compares
 * parameters of methods loosely, so the kind of one operation is assignable.
 */
export type AnySubmissionKind = Pick<SubmissionKind<Operation>, keyof SubmissionKind<Operation>>

export type IntakeDependencies = {
  authenticate: Authenticate
  /** Called when the body has arrived: whether the runtime can still answer the request. */
  canStillAnswer: (request: Request) => Promise<boolean>
  admit: Admit
  resolveReferences: ResolveReferences
  /**
   * Whether a purge would match stored data (db/purges/decide-purge.ts). Rejects when Postgres does
   * not answer in time.
   */
  canPurgeMatch: (workspaceId: string, wanted: PurgeRequest) => Promise<boolean>
  /** Whether the feedback is stored. Rejects when Postgres does not answer in time. */
  hasFeedback: (workspaceId: string, id: string) => Promise<boolean>
  resolveFeedbackId: ResolveFeedbackId
  awaitProgress: AwaitProgress
  awaitFinished: AwaitFinished
  bodies: BodiesInHand
  emptyBuckets: EmptyBuckets
  pressure: Pick<PressureWatch, 'current' | 'bytesLeft' | 'added'>
  limitOf: (operation: Operation) => RateLimit | undefined
  maxBytes: { body: number; conversation: number }
  hashKey: HashKey
  onFault: OnFault
  count: (outcome: IntakeOutcome) => void
}

export type EmptyBuckets = {
  /** The bucket of a workspace and operation if it is known to be empty, else undefined. */
  find: (workspaceId: string, operation: Operation) => Bucket | undefined
  /** Remembers the bucket if it is empty. */
  remember: (workspaceId: string, operation: Operation, bucket: Bucket | undefined) => void
}

/** `why`: the reason of a 503. */
export type IntakeOutcome = {
  operation: Operation | 'batch'
  result: 'accepted' | Refusal['refused']
  why?: Unavailable['why']
}
