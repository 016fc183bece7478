import type { HashKey } from '../../contract/identity/own-id.ts'
import type { PurgeRequest } from '../../contract/purge-request.ts'
import type { Operation } from '../../contract/submission.ts'
import type { Admit, RateLimit } from '../../queue/admission/admission.ts'
import type { Authenticate } from '../authenticate.ts'
import type { OnFault } from '../fault-ids.ts'
import type { Refusal, Unavailable } from '../refusal.ts'
import type { ResolveReferences } from '../resolve-references.ts'
import type { AwaitProgress } from './await-progress.ts'
import type { BodiesInHand } from './bodies-in-hand.ts'
import type { EmptyBuckets } from './empty-buckets.ts'
import type { Pressure } from './pressure.ts'

/**
 * The dependencies of the intake. The caller hands in every clock, store and source of randomness.
 */
export type IntakeDependencies = {
  authenticate: Authenticate
  /** Called when the body has arrived: whether the runtime can still answer the request. */
  isWhole: (request: Request) => Promise<boolean>
  admit: Admit
  resolveReferences: ResolveReferences
  /** Whether a purge would match stored data. Rejects when Postgres does not answer in time. */
  canPurgeMatch: (workspaceId: string, wanted: PurgeRequest) => Promise<boolean>
  awaitProgress: AwaitProgress
  bodies: BodiesInHand
  emptyBuckets: EmptyBuckets
  pressure: Pressure['current']
  limitOf: (operation: Operation) => RateLimit | undefined
  maxBytes: { body: number; conversation: number }
  hashKey: HashKey
  onFault: OnFault
  count: (outcome: IntakeOutcome) => void
}

/** `why`: the reason of a 503. */
export type IntakeOutcome = {
  operation: Operation | 'batch'
  result: 'accepted' | Refusal['refused']
  why?: Unavailable['why']
}
