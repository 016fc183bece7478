import type { RedisClient } from './redis.ts'
import { coalesce, SPACED } from '../process/coalesce.ts'
import type { Operation } from '../contract/job.ts'
import type { Sayings } from '../contract/identity/sayings.ts'
import { admissionKeys } from './admission-keys.ts'
import { ADMIT, type AskedSubmission } from './admit-script.ts'
import { type Idempotency, IDEMPOTENCY_SECONDS } from './idempotency.ts'
import type { Queueing } from './job-queues.ts'
import { JOB_OPTIONS_TEXT } from './jobs-at-once.ts'
import type { QueuedFactsByKey } from '../contract/identity/queued-facts.ts'
import { factsByKey, type RawFacts } from './queued-facts.ts'

/** `tokens` submissions; a spent token comes back `windowMs` after it was spent. */
export type RateLimit = { tokens: number; windowMs: number }

/** What is left of a limit, and when the next spent token comes back; 0 when none is spent. */
export type Bucket = { remaining: number; resetMs: number }

export type AdmissionRequest = {
  workspaceId: string
  operation: Operation
  submissionId: string
  limit?: RateLimit | undefined
  idempotency?: Idempotency | undefined
  /** Identity keys of the contacts that it concerns: a purge of one frees the idempotency key. */
  concerns?: readonly string[]
  /** No number at or below this is given. */
  floor?: number
  /** Nothing may enter now; the limit is judged all the same, and not used up. */
  full?: boolean
  /** Only asks whether the idempotency key was here before. */
  peek?: boolean
  /** What had the idempotency key before and never came into the queue: the key is free of it. */
  lost?: string
  /** What is to be queued when it enters: the JSON text of its job, without the number. */
  job?: string
  /** Found by others from now on, until the submission is settled. */
  sayings: Sayings
  /** Keys about which to tell what is queued. */
  lookUp: readonly string[]
}

/** What was queued when the number was given: about the keys looked up, and whether any purge is undecided. */
export type Queue = { queued: QueuedFactsByKey; purgesQueued: boolean }

/** `bucket`: of an operation that has a limit. Only who is admitted has spent a token of it. */
export type Admission =
  | ({ outcome: 'admitted'; number: number; bucket: Bucket | undefined } & Queue)
  | ({ outcome: 'repeated'; submissionId: string; number: number; bucket: Bucket | undefined } & Queue)
  | { outcome: 'rate-limited' | 'full' | 'in-flight' | 'other-body'; bucket: Bucket | undefined }
  | { outcome: 'fresh' }

export type Admit = (request: AdmissionRequest) => Promise<Admission>

/** A first request that died frees its idempotency key after this time. */
const LOST_AFTER_MS = 60_000
/** `said`: what became of it, its fields between spaces. Of keys looked up only those about which something is queued. */
type ScriptAnswer = string | [said: string, ...facts: (number | string | string[])[]]

type RedisWithAdmit = RedisClient & { admit(...keysAndArguments: (string | number)[]): Promise<ScriptAnswer[]> }

/** A job larger than this is queued when its submission has entered: of what is refused no more should reach Redis. */
const QUEUED_AT_ONCE_CHARACTERS = 64 * 1024

/**
 * Decides whether a submission enters, gives it its acceptance number, strictly increasing in its workspace, whichever process asks,
 * never at or below `floor`, and queues its job. Rejects when Redis does not answer; then nothing may be confirmed.
 * What is in flight together in one workspace shares a call: for 64 connections that send feedback with idempotency keys a dozen
 * requests. With three calls for each a request took 128 us of Redis and 353 of the API; sharing them, and with hashes that are made
 * once, 81 and 147. An idempotency key is kept from the admission on, and whether its submission has come into the queue is
 * looked up when the key comes again; and jobs are queued with the same call, where they may be: on no cluster, whose slots are apart.
 */
export const admissionsIn = (redis: RedisClient, prefix: string, queueing: Queueing): Admit => {
  redis.defineCommand('admit', { lua: ADMIT, numberOfKeys: 5 })
  const desks = new Map<string, (request: AdmissionRequest) => Promise<ScriptAnswer>>()
  const namesOf = ({ operation, job }: AdmissionRequest): string | undefined =>
    job !== undefined && !redis.isCluster && job.length <= QUEUED_AT_ONCE_CHARACTERS
      ? queueing.namesOf(operation)
      : undefined
  const carryOut = (workspaceId: string, requests: readonly AdmissionRequest[]): Promise<ScriptAnswer[]> => {
    const name = admissionKeys(prefix, workspaceId)
    const asked = requests.map((request) => askedOf(request, namesOf(request)))
    return (redis as RedisWithAdmit).admit(
      name.number,
      name.outstanding,
      name.exists,
      name.ledger,
      name.purges,
      name.before.bucket,
      name.before.said,
      name.before.idempotency,
      name.before.concerned,
      name.before.withdrawn,
      requests.reduce((highest, { floor = 0 }) => Math.max(highest, floor), 0),
      LOST_AFTER_MS,
      IDEMPOTENCY_SECONDS,
      JSON.stringify(asked),
      JOB_OPTIONS_TEXT,
      ...requests.map(({ job }, index) => (asked[index]!.queue === undefined ? '' : job!.slice(1))),
    )
  }
  const ask = async (request: AdmissionRequest): Promise<Verdict> => {
    const { workspaceId } = request
    let desk = desks.get(workspaceId)
    if (!desk) {
      desk = coalesce((requests) => carryOut(workspaceId, requests), TOGETHER)
      desks.set(workspaceId, desk)
    }
    return verdictOf(request.lookUp, await desk(request))
  }
  const decide = async (request: AdmissionRequest): Promise<Admission> => {
    const { admission, standing } = await ask(request)
    if (admission.outcome !== 'repeated' || standing === 'settled') return admission
    const { submissionId, bucket } = admission
    const { workspaceId, operation } = request
    if (await queueing.isQueued({ workspaceId, operation, submissionId })) return admission
    if (standing === 'outstanding') return { outcome: 'in-flight', bucket }
    // If it was settled only now, it is no longer outstanding, and told to be repeated after all.
    return (await ask({ ...request, lost: submissionId })).admission
  }
  return async (request) => {
    const admission = await decide(request)
    const { operation, submissionId, job } = request
    if (admission.outcome === 'admitted' && job !== undefined && namesOf(request) === undefined) {
      await queueing.enqueue({ operation, submissionId, text: `{"number":${admission.number},${job.slice(1)}` })
    }
    return admission
  }
}

const CHARACTERS_LIKE_A_KEY = 1_000

const weightOf = ({ sayings, lookUp, job = '' }: AdmissionRequest): number =>
  sayings.newIds.length + sayings.aboutKeys.length + lookUp.length + job.length / CHARACTERS_LIKE_A_KEY

/**
 * What one call carries at most, so that Redis is there for others again after a millisecond or two. A second call may be on its way,
 * so that the API reads requests while Redis admits others: 64 connections sent all they had in one call and then all waited for its
 * answer (4,580 requests a second, now 5,270, on a slow machine).
 */
const TOGETHER = { items: 100, weight: { most: 1_000, of: weightOf }, lanes: 2, ...SPACED }

const askedOf = (
  { submissionId, sayings, limit, idempotency, ...request }: AdmissionRequest,
  queue: string | undefined,
): AskedSubmission => ({
  id: submissionId,
  operation: request.operation,
  mode: request.peek === true ? 'peek' : request.full === true ? 'full' : 'open',
  tokens: limit?.tokens,
  windowMs: limit?.windowMs,
  record: idempotency && `${request.operation}:${idempotency.key}`,
  body: idempotency?.body,
  lost: request.lost,
  queue,
  exists: sayings.newIds,
  said: sayings.aboutKeys.map((about) => ({ keyId: about.keyId, sayings: JSON.stringify(about.sayings) })),
  lookUp: request.lookUp,
  concerns: idempotency ? (request.concerns ?? []) : [],
})

/** `standing`: of a submission that had the idempotency key before. */
type Verdict = { admission: Admission; standing?: 'settled' | 'outstanding' | 'overdue' | undefined }

const verdictOf = (lookUp: readonly string[], told: ScriptAnswer): Verdict => {
  const [said, ...facts] = typeof told === 'string' ? [told] : told
  const [outcome, remaining, reset, number, purges, submissionId, standing] = said.split(' ')
  const bucket = bucketOf(remaining!, reset!)
  const queue = () => ({ queued: factsOf(lookUp, facts), purgesQueued: purges !== '0' })
  switch (outcome as Exclude<Admission['outcome'], 'in-flight'>) {
    case 'fresh':
      return { admission: { outcome: 'fresh' } }
    case 'rate-limited':
    case 'full':
    case 'other-body':
      return { admission: { outcome: outcome as 'full', bucket } }
    case 'admitted':
      return { admission: { outcome: 'admitted', number: Number(number), bucket, ...queue() } }
    case 'repeated':
      return {
        admission: { outcome: 'repeated', submissionId: submissionId!, number: Number(number), bucket, ...queue() },
        standing: standing as Verdict['standing'],
      }
  }
}

const NOTHING_QUEUED: QueuedFactsByKey = new Map()

const factsOf = (lookUp: readonly string[], facts: readonly (number | string | string[])[]): QueuedFactsByKey => {
  if (facts.length === 0) return NOTHING_QUEUED
  const ids: string[] = []
  const raw: RawFacts = []
  for (let at = 0; at < facts.length; at += 3) {
    ids.push(lookUp[Number(facts[at])]!)
    raw.push([facts[at + 1] as string, facts[at + 2] as string[]])
  }
  return factsByKey(ids, raw)
}

const MICROSECONDS_PER_MS = 1_000

const bucketOf = (remaining: string, resetMicroseconds: string): Bucket | undefined =>
  remaining === '-'
    ? undefined
    : { remaining: Math.max(0, Number(remaining)), resetMs: Math.ceil(Number(resetMicroseconds) / MICROSECONDS_PER_MS) }
