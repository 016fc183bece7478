import type { HashKey } from '../../contract/identity/own-id.ts'
import type { ResolveReferences } from '../../contract/identity/meaning.ts'
import type { Operation } from '../../contract/job.ts'
import type { Admit, RateLimit } from '../../queue/admission.ts'
import type { Authenticate } from '../authenticate.ts'
import type { BodiesInHand } from './bodies-in-hand.ts'
import type { EmptyBuckets } from './empty-buckets.ts'
import type { AwaitSettled } from './await-settled.ts'
import type { OnFault } from '../fault-ids.ts'
import type { Pressure } from './pressure.ts'
import type { MatchesPurge } from '../purge-matcher.ts'
import type { Refusal, Unavailable } from '../refusal.ts'

/** What taking in a submission needs. Everything that has a clock, a store or randomness is handed in. */
export type Ingress = {
  authenticate: Authenticate
  /** Asked when the body has arrived: whether the runtime still lets the request be answered. */
  isWhole: (request: Request) => Promise<boolean>
  admit: Admit
  resolveReferences: ResolveReferences
  matchesPurge: MatchesPurge
  awaitSettled: AwaitSettled
  bodies: BodiesInHand
  emptyBuckets: EmptyBuckets
  pressure: Pressure['current']
  limitOf: (operation: Operation) => RateLimit | undefined
  maxBytes: { body: number; conversation: number }
  hashKey: HashKey
  onFault: OnFault
  /** `why`: the reason of a 503. */
  count: (outcome: {
    operation: Operation | 'batch'
    result: 'accepted' | Refusal['refused']
    why?: Unavailable['why']
  }) => void
}
