import type { Operation } from '../contract/job.ts'

// All keys of ours in Redis, with their types and values. A hash tag keeps the keys of a workspace in one slot of a cluster. BullMQ names
// and keeps the other keys, with a prefix for each queue (contract/queues.ts). Only `handed` is our own among those.

/**
 * The keys of one workspace: its admission, and its books. A number is an acceptance number; a key id is the id of an identity key.
 *
 * @param prefix REDIS_PREFIX
 */
export const admissionKeys = (prefix: string, workspaceId: string) => {
  const base = `{${prefix}:${workspaceId}}`
  /** How the names begin that scripts complete. */
  const before = {
    bucket: `${base}:bucket:`,
    said: `${base}:said:`,
    idempotency: `${base}:idempotency:`,
    concerned: `${base}:concerned:`,
    withdrawn: `${base}:withdrawn:`,
  }
  return {
    before,
    /** String: the last number given. */
    number: `${base}:number`,
    /** List: the microseconds at which the missing tokens of a rate limit were spent, oldest last. Gone after the limit's window. */
    bucket: (operation: Operation) => `${before.bucket}${operation}`,
    /** Sorted set: submissions that are not settled, by number; purges only until they are decided. */
    outstanding: `${base}:outstanding`,
    /** Sorted set: the outstanding purges, by number. What was accepted after one waits until it is decided. */
    purges: `${base}:purges`,
    /** Sorted set: purges that are decided, whose records are being removed, by number. */
    removing: `${base}:removing`,
    /** Hash: own ids that exist from a queued submission on, each with its `existsValue`. */
    exists: `${base}:exists`,
    /** Hash: `accepted`, how many submissions were admitted and not withdrawn. */
    ledger: `${base}:ledger`,
    /** Hash: what queued submissions say about a key, by number: `Saying[]` as JSON. */
    said: (keyId: string) => `${before.said}${keyId}`,
    /** String: empty, for as long as an idempotency key may lead to the withdrawn submission. */
    withdrawn: (submissionId: string) => `${before.withdrawn}${submissionId}`,
    /** String: the key that an own id will belong to once a queued purge has ended its former one, `KeyOfId` as JSON. Kept for days. */
    alias: (ownId: string) => `${base}:alias:${ownId}`,
    /** String: the record `body:submission:number:state`; body a hash, state always `admitted`. Kept for `IDEMPOTENCY_SECONDS`. */
    idempotency: (operation: Operation, key: string) => before.idempotency + recordName(operation, key),
    /** Sorted set: the `recordName` of each idempotency record whose submission concerns an identity key, by number, for purges to free. */
    concerned: (keyId: string) => `${before.concerned}${keyId}`,
  }
}

export type AdmissionKeys = ReturnType<typeof admissionKeys>

/** The end of an idempotency record's name; `key` is the hash of the `Idempotency-Key`. */
export const recordName = (operation: Operation, key: string): string => `${operation}:${key}`

/** Since which number an own id exists, and what it is of (`Sayings`). Scripts read the number from it. */
export const existsValue = (number: number, of: string): string => `${number}:${of}`

export const readExistsValue = (value: string): { existsFrom: number; of: string } => {
  const [number, of] = value.split(':')
  return { existsFrom: Number(number), of: of! }
}

/** Numbers, and the moments in buckets, are microseconds since 1970 on Redis's clock. */
export const MICROSECONDS_PER_MS = 1_000

export type Numbered = { submissionId: string; number: number }

/** Submissions of a sorted set by number, as Redis answers WITHSCORES. */
export const readByNumber = (membersAndScores: readonly string[]): Numbered[] =>
  Array.from({ length: membersAndScores.length / 2 }, (_, at) => ({
    submissionId: membersAndScores[2 * at]!,
    number: Number(membersAndScores[2 * at + 1]),
  }))

/** Hash: `ProcessReport` as JSON, by process id; and sorted set: process ids by the Unix milliseconds of the last report. */
export const processKeys = (prefix: string) => {
  const base = `{${prefix}:processes}`
  return { figures: `${base}:figures`, seen: `${base}:seen` }
}

/** The name of a list of job ids, among a queue's keys: the jobs that one command has handed to a worker. Kept for `lockMs`. */
export const handedName = (token: string, fetch: number): string => `handed:${token}:${fetch}`
