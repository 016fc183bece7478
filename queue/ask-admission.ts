import type { QueuedFactsByKey } from '../contract/identity/queued-facts.ts'
import { coalesce } from '../process/coalesce.ts'
import type { Admission, AdmissionRequest, Bucket } from './admission.ts'
import type { RedisClient } from './connect-redis.ts'
import { IDEMPOTENCY_SECONDS } from './idempotency.ts'
import { JOB_OPTIONS_TEXT } from './jobs-at-once.ts'
import { admissionKeys, recordName } from './keys.ts'
import { luaScript } from './lua-script.ts'
import { factsByKey, type RawFacts } from './queued-facts.ts'

/** `lost`: the submission that had the idempotency key before and never came into the queue; the key is free of it. */
type AskedRequest = AdmissionRequest & { lost?: string }

/** `standing` is that of a submission that had the idempotency key before. */
type Verdict = { admission: Admission; standing?: 'settled' | 'outstanding' | 'overdue' }
export type AskAdmission = (request: AskedRequest) => Promise<Verdict>

type Dependencies = {
  redis: RedisClient
  prefix: string
  /** How the names of the queue begin to which the script adds the job; undefined when it adds none. */
  queueOf: (request: AdmissionRequest) => string | undefined
}

/** What became of a submission, its fields between spaces; then a place, exists and said for each key about which something is queued. */
type ScriptAnswer = string | [fields: string, ...facts: (number | string | string[])[]]
type RedisWithAdmit = RedisClient & { admit(...keysAndArguments: (string | number)[]): Promise<ScriptAnswer[]> }

const ADMIT = luaScript('admit', ['push-jobs'])
const KEYS_OF_ADMIT = 5

/**
 * Asks admit.lua about submissions. Requests of one workspace that are in flight together share a call: with 64 connections that send
 * feedback with idempotency keys, a dozen requests. With three calls for each, a request took 128 us of Redis and 353 of the API; with
 * shared calls, and with hashes that are made once, 81 and 147.
 */
export const askAdmissionsIn = (dependencies: Dependencies): AskAdmission => {
  dependencies.redis.defineCommand('admit', { lua: ADMIT, numberOfKeys: KEYS_OF_ADMIT })
  const askTogether = new Map<string, (request: AskedRequest) => Promise<ScriptAnswer>>()
  return async (request) => {
    const { workspaceId, lookUp } = request
    let ask = askTogether.get(workspaceId)
    if (!ask) {
      ask = coalesce((requests) => callScript(dependencies, workspaceId, requests), TOGETHER)
      askTogether.set(workspaceId, ask)
    }
    return readAnswer(await ask(request), lookUp)
  }
}

const CHARACTERS_LIKE_A_KEY = 1_000

const weightOf = ({ sayings, lookUp, job = '' }: AdmissionRequest): number =>
  sayings.newIds.length + sayings.aboutKeys.length + lookUp.length + job.length / CHARACTERS_LIKE_A_KEY

/**
 * What one call carries at most, so that Redis answers others again after a millisecond or two. A second call may be on its way, so that
 * the API reads requests while Redis admits others: otherwise 64 connections sent all they had in one call, and then all waited for its
 * answer (4,580 requests a second, now 5,270, on a slow machine).
 */
const TOGETHER = { items: 100, weight: { most: 1_000, of: weightOf }, lanes: 2 }

/** An outstanding submission without a job is lost, and frees its idempotency key, after this time. */
const LOST_AFTER_MS = 60_000

/** The order is that of KEYS and ARGV in admit.lua. */
const callScript = (
  { redis, prefix, queueOf }: Dependencies,
  workspaceId: string,
  requests: readonly AskedRequest[],
): Promise<ScriptAnswer[]> => {
  const { before, number, outstanding, exists, ledger, purges } = admissionKeys(prefix, workspaceId)
  const asked = requests.map((request) => askedOf(request, queueOf(request)))
  const floor = requests.reduce((highest, request) => Math.max(highest, request.floor ?? 0), 0)
  const keys = [number, outstanding, exists, ledger, purges]
  const namesBegin = [before.bucket, before.said, before.idempotency, before.concerned, before.withdrawn]
  const settings = [floor, LOST_AFTER_MS, IDEMPOTENCY_SECONDS, JSON.stringify(asked), JOB_OPTIONS_TEXT]
  const jobs = requests.map(({ job }, index) => (asked[index]!.queue === undefined ? '' : job!.slice(1)))
  return (redis as RedisWithAdmit).admit(...keys, ...namesBegin, ...settings, ...jobs)
}

/** A submission as the script is asked about it. What is undefined is left out. */
const askedOf = (
  { submissionId, sayings, limit, idempotency, ...request }: AskedRequest,
  queue: string | undefined,
) => ({
  id: submissionId,
  operation: request.operation,
  mode: request.peek === true ? 'peek' : request.full === true ? 'full' : 'open',
  tokens: limit?.tokens,
  windowMs: limit?.windowMs,
  /** The end of the idempotency record's name, and the hash of the body. */
  record: idempotency && recordName(request.operation, idempotency.key),
  body: idempotency?.body,
  lost: request.lost,
  queue,
  exists: sayings.newIds,
  /** Sayings as JSON, as they are kept. */
  said: sayings.aboutKeys.map(({ keyId, sayings: said }) => ({ keyId, sayings: JSON.stringify(said) })),
  lookUp: request.lookUp,
  concerns: idempotency ? (request.concerns ?? []) : [],
})

const readAnswer = (answer: ScriptAnswer, lookUp: readonly string[]): Verdict => {
  const [fields, ...facts] = typeof answer === 'string' ? [answer] : answer
  const [outcome, remaining, reset, numberText, purges, submissionId, standing] = fields.split(' ')
  const bucket = readBucket(remaining!, reset!)
  const entered = () => ({
    number: Number(numberText),
    bucket,
    queued: readFacts(facts, lookUp),
    purgesQueued: purges !== '0',
  })
  switch (outcome as Exclude<Admission['outcome'], 'in-flight'>) {
    case 'fresh':
      return { admission: { outcome: 'fresh' } }
    case 'rate-limited':
    case 'full':
    case 'other-body':
      return { admission: { outcome: outcome as 'full', bucket } }
    case 'admitted':
      return { admission: { outcome: 'admitted', ...entered() } }
    case 'repeated':
      return {
        admission: { outcome: 'repeated', submissionId: submissionId!, ...entered() },
        standing: standing as NonNullable<Verdict['standing']>,
      }
  }
}

const readFacts = (facts: readonly (number | string | string[])[], lookUp: readonly string[]): QueuedFactsByKey => {
  const ids: string[] = []
  const raw: RawFacts = []
  for (let at = 0; at < facts.length; at += 3) {
    ids.push(lookUp[Number(facts[at])]!)
    raw.push([facts[at + 1] as string, facts[at + 2] as string[]])
  }
  return factsByKey(ids, raw)
}

const MICROSECONDS_PER_MS = 1_000

const readBucket = (remaining: string, resetMicroseconds: string): Bucket | undefined =>
  remaining === '-'
    ? undefined
    : { remaining: Math.max(0, Number(remaining)), resetMs: Math.ceil(Number(resetMicroseconds) / MICROSECONDS_PER_MS) }
