import type { HashKey } from '../../contract/identity/own-id.ts'
import type { Operation } from '../../contract/submission.ts'
import type { Admit, RateLimit } from '../../queue/admission/admission.ts'
import type { Authenticate } from '../authenticate.ts'
import type { OnFault } from '../fault-ids.ts'
import type { Refusal, Unavailable } from '../refusal.ts'
import type { CanPurgeMatch } from '../stored-purge-match.ts'
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
  canPurgeMatch: CanPurgeMatch
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
