import { type HashKey, keyedHash } from '../../contract/identity/keys.ts'
import type { Idempotency, IdempotencyRecord, Operation } from '../../contract/submission.ts'
import { letterOf } from '../log/log-entry.ts'
import { coalesce } from '../../runtime/coalesce.ts'
import {
  type AdmissionRequest,
  type Admit,
  type ScriptAnswer,
  type ScriptRequest,
  callAdmit,
  createSendAdmit,
  type StoredKey,
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
  /**
   * Finds an idempotency key in Postgres; null if Postgres does not have the key, undefined while
   * Postgres is away.
   */
  findStoredKey: (workspaceId: string, key: string) => Promise<IdempotencyRecord | null | undefined>
}

/**
 * For this time after an answer `unknown-key`, the keys of the workspace are looked up in Postgres
 * before the call. So one call is enough.
 */
const POSTGRES_FIRST_MS = 60_000

/**
 * Admits or refuses submissions. An admitted submission gets its id and acceptance number, and
 * enters the log of its workspace. A worker is woken if none has the lease of the log. Acceptance
 * numbers of a workspace increase strictly across processes.
 */
export const createAdmit = (dependencies: AdmitDependencies): Admit => {
  const { findStoredKey } = dependencies
  const callScript = createSharedCall(dependencies)
  const postgresFirstUntil = new Map<string, number>()
  const findKnown = async ({ workspaceId, idempotency }: AdmissionRequest): Promise<StoredKey> =>
    (await findStoredKey(workspaceId, idempotency!.key)) ?? 'nothing'

  return async (request) => {
    const { workspaceId, idempotency, isKeyUnused } = request
    const isPostgresFirst = idempotency !== undefined && (postgresFirstUntil.get(workspaceId) ?? 0) > performance.now()
    const known = isKeyUnused ? 'nothing' : isPostgresFirst ? await findKnown(request) : undefined
    const answer = await callInSteps(callScript, { ...request, known })
    if (answer.outcome !== 'unknown-key') return answer
    postgresFirstUntil.set(workspaceId, performance.now() + POSTGRES_FIRST_MS)
    const second = await callInSteps(callScript, { ...request, known: await findKnown(request) })
    if (second.outcome === 'unknown-key')
      throw new Error('The script answered unknown-key to a request with a known key.')
    return second
  }
}

type CallScript = (request: ScriptRequest) => Promise<ScriptAnswer>

/** A submission with a larger body is first judged without it, so a refusal costs Redis little. */
const SENT_AT_ONCE_CHARACTERS = 64 * 1024

const callInSteps = async (callScript: CallScript, request: ScriptRequest): Promise<ScriptAnswer> => {
  const { mode, bodyText } = request
  if (mode === undefined && bodyText.length <= SENT_AT_ONCE_CHARACTERS) return callScript(request)
  const answer = await callScript({ ...request, bodyText: '', mode: mode ?? 'judge' })
  return mode === undefined && answer.outcome === 'admissible' ? callScript(request) : answer
}

const CALL_WEIGHT = 1_000
const REQUEST_WEIGHT = 3
const CHARACTERS_PER_WEIGHT = 300

/** A purge fills a call: the end of a purge trims whole entries up to its number. */
const weightOf = ({ operation, bodyText }: AdmissionRequest): number =>
  operation === 'purge_contact' ? CALL_WEIGHT : REQUEST_WEIGHT + bodyText.length / CHARACTERS_PER_WEIGHT

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

// The letter of the operation and 126 bits of the key's hash, and 54 bits of the body's hash: a
// body is compared with one other body only. Without HASH_KEY, a client cannot search for
// collisions.
const KEY_CHARACTERS = 22
const BODY_CHARACTERS = 9

/** The hashes of an idempotency key and of the body. `bodyText`: the body as JSON. */
export const idempotencyOf = (
  hashKey: HashKey,
  { operation, key, bodyText }: { operation: Operation; key: string; bodyText: string },
): Idempotency => {
  const hash = (text: string): string => keyedHash(hashKey, text).toString('base64url')
  return {
    key: (letterOf(operation) + hash(key)).slice(0, KEY_CHARACTERS),
    body: hash(bodyText).slice(0, BODY_CHARACTERS),
  }
}
