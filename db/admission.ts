import type { RedisClient } from './redis.ts'
import { coalesce } from './contract/coalesce.ts'
import type { Operation } from './contract/job.ts'
import type { Pending } from './contract/pending.ts'
import { admissionKeys } from './admission-keys.ts'
import { ADMIT } from './admit-script.ts'
import { type Idempotency, IDEMPOTENCY_SECONDS } from './idempotency.ts'
import { factsByKey, type QueuedFactsByKey, type RawFacts } from './queued-facts.ts'

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
  /** Found by others from now on, until the submission is settled. */
  pending: Pending
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

export type Admissions = {
  admit: Admit
  /** The first answer was given: from now on, for a day, the same request gets it again. */
  rememberAnswered: (done: Answered) => Promise<void>
}

export type Answered = {
  workspaceId: string
  operation: Operation
  submissionId: string
  number: number
  idempotency: Idempotency
}

/** A first request that died frees its idempotency key after this time. */
const IN_FLIGHT_SECONDS = 60
/** `said`: what became of it, its fields between spaces. Of keys looked up only those about which something is queued. */
type Told = string | [said: string, ...facts: (number | string | string[])[]]

type RedisWithAdmit = RedisClient & { admit(...keysAndArguments: (string | number)[]): Promise<Told[]> }

type Errand = { admit: AdmissionRequest; done?: never } | { admit?: never; done: Answered }

/**
 * Decides whether a submission enters, and gives it its acceptance number: strictly increasing in its workspace, whichever
 * process asks, never at or below `floor`. Both reject when Redis does not answer; then nothing may be confirmed.
 * What is in flight together in one workspace shares a call: for 64 connections that send feedback with idempotency keys a dozen
 * requests. With three calls for each, a request took 128 us of Redis and 353 of the API; sharing them, and with hashes that are made
 * once, 81 and 147.
 */
export const admissionsIn = (redis: RedisClient, prefix: string): Admissions => {
  redis.defineCommand('admit', { lua: ADMIT, numberOfKeys: 5 })
  const desks = new Map<string, (errand: Errand) => Promise<Admission | undefined>>()
  const send = (workspaceId: string, errand: Errand): Promise<Admission | undefined> => {
    let desk = desks.get(workspaceId)
    if (!desk) {
      desk = coalesce(
        (errands) => carryOut(redis as RedisWithAdmit, admissionKeys(prefix, workspaceId), errands),
        TOGETHER,
      )
      desks.set(workspaceId, desk)
    }
    return desk(errand)
  }
  return {
    admit: async (request) => (await send(request.workspaceId, { admit: request }))!,
    rememberAnswered: async (done) => {
      await send(done.workspaceId, { done })
    },
  }
}

const keysOf = ({ admit }: Errand): number =>
  admit === undefined ? 1 : admit.pending.exists.length + admit.pending.said.length + admit.lookUp.length

/** What one call carries at most, so that Redis is there for others again after a millisecond or two. */
const TOGETHER = { items: 100, weight: { most: 1_000, of: keysOf } }

const carryOut = async (
  redis: RedisWithAdmit,
  name: ReturnType<typeof admissionKeys>,
  errands: readonly Errand[],
): Promise<(Admission | undefined)[]> => {
  const requests = errands.flatMap(({ admit }) => admit ?? [])
  const told = await redis.admit(
    name.number,
    name.outstanding,
    name.exists,
    name.ledger,
    name.purges,
    name.before.bucket,
    name.before.said,
    name.before.idempotency,
    name.before.concerned,
    requests.reduce((highest, { floor = 0 }) => Math.max(highest, floor), 0),
    IN_FLIGHT_SECONDS,
    IDEMPOTENCY_SECONDS,
    errands.length - requests.length,
    ...errands.flatMap(({ done }) => (done ? recordOf(done) : [])),
    ...requests.flatMap(askedOf),
  )
  let place = 0
  return errands.map(({ admit }) => admit && admissionOf(admit.lookUp, told[place++]!))
}

const recordOf = ({ operation, idempotency, submissionId, number }: Answered): [key: string, record: string] => [
  `${operation}:${idempotency.key}`,
  `${idempotency.body}:${submissionId}:${number}:answered`,
]

const askedOf = (request: AdmissionRequest): (string | number)[] => {
  const { submissionId, operation, limit, idempotency, pending, lookUp } = request
  const concerns = idempotency ? (request.concerns ?? []) : []
  return [
    submissionId,
    operation,
    limit?.tokens ?? 0,
    limit?.windowMs ?? 0,
    request.peek === true ? 'peek' : request.full === true ? 'full' : 'open',
    idempotency ? `${operation}:${idempotency.key}` : '',
    idempotency?.body ?? '',
    operation === 'purge_contact' ? 1 : 0,
    pending.exists.length,
    pending.said.length,
    lookUp.length,
    concerns.length,
    ...pending.exists.flatMap(({ id, of }) => [id, of]),
    ...pending.said.flatMap(({ keyId, sayings }) => [keyId, JSON.stringify(sayings)]),
    ...lookUp,
    ...concerns,
  ]
}

const admissionOf = (lookUp: readonly string[], told: Told): Admission => {
  const [said, ...facts] = typeof told === 'string' ? [told] : told
  const [outcome, remaining, reset, number, purges, submissionId] = said.split(' ')
  const bucket = bucketOf(remaining!, reset!)
  switch (outcome as Admission['outcome']) {
    case 'fresh':
      return { outcome: 'fresh' }
    case 'rate-limited':
    case 'full':
    case 'in-flight':
    case 'other-body':
      return { outcome: outcome as 'full', bucket }
    case 'admitted':
    case 'repeated': {
      const queue = { queued: factsOf(lookUp, facts), purgesQueued: purges !== '0' }
      return outcome === 'admitted'
        ? { outcome, number: Number(number), bucket, ...queue }
        : { outcome: 'repeated', submissionId: submissionId!, number: Number(number), bucket, ...queue }
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
