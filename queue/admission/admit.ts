import type { KeyState } from '../../contract/submission.ts'
import { coalesce } from '../../runtime/coalesce.ts'
import {
  type Admission,
  admissionOfFormer,
  type AdmissionRequest,
  type Admit,
  callAdmit,
  createSendAdmit,
  type ScriptAnswer,
  type ScriptRequest,
  type SendAdmit,
} from './call-admit.ts'
import type { RedisClient } from '../redis/connect-redis.ts'
import { createReplicatedSend } from '../redis/replicated.ts'
import type { Wake } from '../jobs/job-queues.ts'

export type AdmitDependencies = {
  /** With `replicas`, a connection for admissions alone. */
  redis: RedisClient
  prefix: string
  wake: Pick<Wake, 'wake'>
  /** A position that the workspace has had in Postgres. New acceptance numbers are above it. */
  floorOf?: (workspaceId: string) => Promise<number>
  /** How many replicas must have a submission before its outcome is `admitted`; 0 by default. */
  replicas?: number
  /** The state of an idempotency key in Postgres; `unknown` while Postgres is away. */
  findStoredKey: (workspaceId: string, key: string) => Promise<KeyState>
}

/**
 * For this time after a key was unknown, the keys of its workspace are looked up in Postgres before
 * the call. So one call is enough.
 */
const POSTGRES_FIRST_MS = 60_000
/** A submission with a larger body is first judged without it, so a refusal costs Redis little. */
const SENT_AT_ONCE_CHARACTERS = 64 * 1024

/**
 * Admits or refuses submissions. An admitted submission gets its id and acceptance number, and
 * enters the log of its workspace. A worker is woken if none has the lease of the log. Acceptance
 * numbers of a workspace increase strictly across processes.
 */
export const createAdmit = (dependencies: AdmitDependencies): Admit => {
  const callScript = createSharedCall(dependencies)
  const callFirst = createFirstCall(dependencies, callScript)
  return async (request) => {
    // No await without need: requests of one tick keep their order.
    const first = request.judged ?? (await callFirst(request))
    if (first.outcome !== 'admissible' || request.isJudgedOnly) return first
    return (await callScript({ ...request, keyState: 'unused' })).admission
  }
}

type CallScript = (request: ScriptRequest) => Promise<ScriptAnswer>

/**
 * The first call admits a request, or only judges it. While Postgres is away, a key that the book
 * may have lost counts as unused.
 */
const createFirstCall = (
  { findStoredKey }: AdmitDependencies,
  callScript: CallScript,
): ((request: AdmissionRequest) => Promise<Admission>) => {
  const postgresFirstUntil = new Map<string, number>()
  return async (request) => {
    const { workspaceId, idempotency, bodyText } = request
    const find = () => findStoredKey(workspaceId, idempotency!.key)
    const isPostgresFirst = idempotency !== undefined && (postgresFirstUntil.get(workspaceId) ?? 0) > performance.now()
    const storedBefore = isPostgresFirst ? await find() : undefined
    const isFormer = storedBefore?.state === 'former'
    const isJudged = request.isJudgedOnly || isFormer || bodyText.length > SENT_AT_ONCE_CHARACTERS
    const answer = await callScript({
      ...request,
      ...(isJudged && { isJudged, bodyText: '' }),
      keyState: storedBefore === undefined || isFormer ? 'unknown' : 'unused',
    })
    if (answer.keyState !== 'unknown') return answer.admission
    postgresFirstUntil.set(workspaceId, performance.now() + POSTGRES_FIRST_MS)
    const stored = storedBefore ?? (await find())
    return stored.state === 'former' && stored.record.number > answer.expiredNumber
      ? admissionOfFormer(stored.record, idempotency!, answer.admission)
      : answer.admission
  }
}

const CALL_WEIGHT = 1_000
const REQUEST_WEIGHT = 3
const CHARACTERS_PER_WEIGHT = 300

/** A removal fills a call: its end trims whole entries up to its number. */
const weightOf = ({ operation, bodyText }: ScriptRequest): number =>
  operation === 'purge_contact' || operation === 'delete_feedback'
    ? CALL_WEIGHT
    : REQUEST_WEIGHT + bodyText.length / CHARACTERS_PER_WEIGHT

/**
 * The bounds let a call of small bodies block Redis for a millisecond or two. With two calls
 * at a time, the API reads requests while Redis admits.
 */
const TOGETHER = { items: 64, weight: { most: CALL_WEIGHT, weigh: weightOf }, concurrency: 2 }

/** Concurrent requests of one workspace share a call, in their order. */
const createSharedCall = (dependencies: AdmitDependencies): CallScript => {
  const { redis, replicas = 0 } = dependencies
  const send = replicas === 0 ? createSendAdmit(redis) : createReplicatedSend(redis, replicas)
  const callOf = new Map<string, CallScript>()
  return (request) => {
    const { workspaceId } = request
    let call = callOf.get(workspaceId)
    if (!call) {
      call = coalesce((requests) => callAndWake({ ...dependencies, send }, workspaceId, requests), TOGETHER)
      callOf.set(workspaceId, call)
    }
    return call(request)
  }
}

const callAndWake = async (
  { prefix, wake, floorOf, send }: AdmitDependencies & { send: SendAdmit },
  workspaceId: string,
  requests: readonly ScriptRequest[],
): Promise<ScriptAnswer[]> => {
  // The floor is read right before the call: a failover in between could make it too low.
  const floor = (await floorOf?.(workspaceId)) ?? 0
  const { answers, toWake } = await callAdmit({ prefix, send }, { workspaceId, floor }, requests)
  if (toWake) void wake.wake(workspaceId, toWake)
  return answers
}
