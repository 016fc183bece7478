import type { HashKey } from '../contract/identity/keys.ts'
import { MAX_BATCH_BODY_BYTES } from '../contract/limits.ts'
import type { Operation } from '../contract/submission.ts'
import type { Sql } from '../db/connection/postgres.ts'
import { hasFeedback } from '../db/identity/references.ts'
import { canPurgeMatch } from '../db/purges/decide-purge.ts'
import { findIdempotencyKeys } from '../db/submissions/idempotency-keys.ts'
import { createNumberFloor } from '../db/submissions/number-floor.ts'
import { findProgress } from '../db/submissions/receipts.ts'
import { findTokenHolders, noteTokensUsed } from '../db/tokens.ts'
import { coalesce } from '../runtime/coalesce.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Tracing } from '../runtime/tracing.ts'
import { withinTime } from '../runtime/within-time.ts'
import { type AdmitDependencies, createAdmit } from '../queue/admission/admit.ts'
import type { Admit, RateLimit } from '../queue/admission/call-admit.ts'
import { onNewConnection, type RedisClient } from '../queue/redis/connect-redis.ts'
import type { Wake } from '../queue/jobs/job-queues.ts'
import { createAuthenticate } from './authenticate.ts'
import { createTokenUse } from './token-use.ts'
import type { ApiConfig } from './config.ts'
import { createResolveFeedbackId } from './resolve-feedback-id.ts'
import { createResolveReferences } from './resolve-references.ts'
import { canStillAnswer } from './serve.ts'
import { withinQueryTime } from './within-query-time.ts'
import { createAwaitFinished } from './submit/await-finished.ts'
import { createAwaitProgress, type FindProgress } from './submit/await-progress.ts'
import { createEmptyBuckets } from './submit/rate-limit.ts'
import type { IntakeDependencies } from './submit/intake.ts'
import type { PressureWatch } from './submit/pressure.ts'

/** The limit of a look-up whose result an answer can leave out: short, since Postgres may hang. */
const LOOK_UP_TIMEOUT_MS = 1_250
const MINUTE_MS = 60_000

/** A steady clock: setting the clock of the machine does not change it. */
const steadily = (): number => performance.now()

/** What the process hands in. The process closes the connections, after `stop` of the API. */
export type Resources = {
  config: ApiConfig
  log: Logger
  hashKey: HashKey
  sql: Sql
  /** A separate pool, so that reads take no connection from submissions. */
  readingSql: Sql
  redis: RedisClient
  /**
   * A separate connection if admissions wait for replicas, since WAIT delays later commands. Else
   * `redis`.
   */
  admitting: RedisClient
  tracing: Tracing | undefined
}

/** Parts of the process that the intake shares with the rest of the API. */
type SharedParts = Pick<IntakeDependencies, 'bodies' | 'onFault' | 'count'> & {
  wake: Pick<Wake, 'wake'>
  stop: AbortSignal
  pressure: PressureWatch
}

/** The dependencies of the steps from a request to its answer. */
export const createIntake = (resources: Resources, shared: SharedParts): IntakeDependencies => {
  const { config, sql, hashKey } = resources
  const { wake, stop, pressure, ...handed } = shared
  const floor = createNumberFloor(sql, steadily)
  onNewConnection(resources.admitting, floor.forget)
  const use = createTokenUse((hashes) => noteTokensUsed(sql, hashes), Date.now)
  const findTokens = async (hashes: readonly string[]) => {
    const holders = await withinQueryTime(findTokenHolders(sql, hashes))
    use.note(holders.keys())
    return holders
  }
  const find: FindProgress = (submissions) => withinTime(findProgress(sql, submissions), LOOK_UP_TIMEOUT_MS)
  const awaitProgress = createAwaitProgress(find, {
    now: steadily,
    stop,
    hurry: (workspaceId) => void wake.wake(workspaceId, { submissions: 0, isDeep: false }),
  })
  const lookUp = { sql, timeoutMs: LOOK_UP_TIMEOUT_MS, awaitProgress }
  return {
    ...handed,
    hashKey,
    canStillAnswer,
    authenticate: createAuthenticate(findTokens, { now: Date.now, steadily }),
    admit: createAdmitTo(resources, floor, wake),
    resolveReferences: createResolveReferences(lookUp),
    resolveFeedbackId: createResolveFeedbackId({ ...lookUp, hadPurges: floor.hadPurges }),
    canPurgeMatch: (workspaceId, wanted) => withinQueryTime(canPurgeMatch(sql, { hashKey, workspaceId }, wanted)),
    hasFeedback: (workspaceId, id) => withinQueryTime(hasFeedback(sql, workspaceId, id)),
    awaitProgress,
    awaitFinished: createAwaitFinished(awaitProgress),
    emptyBuckets: createEmptyBuckets(steadily),
    pressure,
    limitOf: (operation) => limitOf(config, operation),
    maxBytes: { body: config.MAX_BODY_BYTES, conversation: config.MAX_CONVERSATION_BYTES },
  }
}

const createAdmitTo = (
  { config, sql, admitting }: Resources,
  floor: ReturnType<typeof createNumberFloor>,
  wake: Pick<Wake, 'wake'>,
): Admit =>
  createAdmit({
    redis: admitting,
    replicas: config.REDIS_REPLICAS_ACK,
    prefix: config.REDIS_PREFIX,
    wake,
    floorOf: floor.get,
    findStoredKey: createFindStoredKey(sql),
  })

/** Finds idempotency keys that have left Redis. Simultaneous requests share a query. */
const createFindStoredKey = (sql: Sql): AdmitDependencies['findStoredKey'] => {
  const find = coalesce(
    (asked: readonly { workspaceId: string; key: string }[]) =>
      withinTime(findIdempotencyKeys(sql, asked), LOOK_UP_TIMEOUT_MS),
    { items: 500 },
  )
  return async (workspaceId, key) => {
    try {
      const record = await find({ workspaceId, key })
      return record === null ? { state: 'unused' } : { state: 'former', record }
    } catch {
      return { state: 'unknown' }
    }
  }
}

const limitOf = (config: ApiConfig, operation: Operation): RateLimit | undefined => {
  const tokens = operation === 'submit_conversation' ? config.CONVERSATIONS_PER_MINUTE : config.SUBMISSIONS_PER_MINUTE
  return tokens === undefined ? undefined : { tokens, windowMs: MINUTE_MS }
}

/** Two of the largest bodies fit, so that one alone never fills the bound. */
export const mostBytesInHand = (config: ApiConfig): number => {
  const largest = Math.max(config.MAX_BODY_BYTES, config.MAX_CONVERSATION_BYTES, MAX_BATCH_BODY_BYTES)
  return Math.max(config.MAX_BYTES_IN_HAND, 2 * largest)
}
