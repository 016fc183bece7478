import { Buffer } from 'node:buffer'
import type { Operation } from '../contract/job.ts'
import type { BatchQueueName } from '../contract/queues.ts'

// All keys of ours in Redis, with their types and values. A hash tag keeps the keys of a workspace in one slot of a cluster. BullMQ names
// and keeps the other keys, with a prefix for each queue (contract/queues.ts).

/**
 * The keys of one workspace: its admission, and its books. A number is an acceptance number; a key id is the id of an identity key. The
 * first number of a batch is that of the first place in it.
 *
 * @param prefix REDIS_PREFIX
 */
export const admissionKeys = (prefix: string, workspaceId: string) => {
  const base = baseOf(prefix, workspaceId)
  /** How the names begin that scripts complete. */
  const before = { facts: `${base}:facts:`, batch: `${base}:batch:` }
  return {
    before,
    /** What the names of all keys of the workspace match, and no other's. */
    every: `${base}:*`,
    /** String: the last number given. */
    number: `${base}:number`,
    /** List: the microseconds at which the missing tokens of a rate limit were spent, oldest last. Gone after the limit's window. */
    bucket: (operation: Operation) => `${base}:bucket:${operation}`,
    /** String: a batch, in the form that batch.ts describes. */
    batch: (batchId: string) => `${before.batch}${batchId}`,
    /** Sorted set: batches that are not settled, by their first number; purges only until they are decided. */
    outstanding: `${base}:outstanding`,
    /** Sorted set: the outstanding purges, by number. What was accepted after one waits until it is decided. */
    purges: `${base}:purges`,
    /** Sorted set: purges that are decided, whose records are being removed, by number. */
    removing: `${base}:removing`,
    /** Sorted set: batches of which no job is noted, by the Unix milliseconds of their admission. */
    outbox: `${base}:outbox`,
    /** Sorted set: batches that wait for the job that drains the workspace's backlog, by the Unix milliseconds of their admission. */
    backlog: `${base}:backlog`,
    /** Hash: the job that carries a batch, a `carrierValue`, by batch. */
    carriers: `${base}:carriers`,
    /** Hash: how often a worker died while it had a submission alone in hand, by batch. */
    alone: `${base}:alone`,
    /** Hash: own ids (compact) that exist from a queued submission on, each with its `existsValue`. */
    exists: `${base}:exists`,
    /**
     * Never there. While a cluster moves a slot, it refuses a script as a whole if one of several keys given to it is missing, until the slot
     * has moved; but it ends a script half-way at the first missing key that the script names by itself. So those scripts are given this one.
     * Source: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#multiple-keys-operations
     */
    never: `${base}:never`,
    /**
     * Hash: `accepted`, how many submissions were admitted; `queued`, how many of these are not settled; `bytes`, how many
     * bytes the outstanding batches have; `forgotten`: idempotency keys of submissions up to this number may be missing in the book.
     */
    ledger: `${base}:ledger`,
    /** Hash: what queued submissions say about keys, by key id (compact), in the form of lua/functions/facts.lua. */
    facts: `${base}:facts`,
    /** Hash: spans by saying, of a key about which queued submissions say different things. Beside it, `…:order`: sorted set of the sayings. */
    factsAbout: (keyId: string) => `${before.facts}${compactId(keyId)}`,
    /** String: the key that an own id will belong to once a queued purge has ended its former one, `KeyOfId` as JSON. Kept for days. */
    alias: (ownId: string) => `${base}:alias:${ownId}`,
    /**
     * Hash: the book of recent idempotency keys, each with its `recordBegin` and the hexadecimal number. Kept for `IDEMPOTENCY_SECONDS`, and up
     * to an hour more.
     */
    idempotency: `${base}:idempotency`,
    /** List: the idempotency keys of settled submissions, oldest first: `number key…`, with the highest number among them. */
    settledKeys: `${base}:settled-keys`,
  }
}

/**
 * What a script is given that names many keys of a workspace by itself: two of them as KEYS, of which one is mostly there and one never, and
 * how the names of all begin. Ten names a call would be more than half of what the caller sends, when it settles one submission.
 */
export const keysOfScript = (
  prefix: string,
  workspaceId: string,
): { keys: readonly [ledger: string, never: string]; begin: string } => {
  const begin = `${baseOf(prefix, workspaceId)}:`
  return { keys: [`${begin}ledger`, `${begin}never`], begin }
}

const baseOf = (prefix: string, workspaceId: string): string => `{${prefix}:${workspaceId}}`

/** An id in 22 characters: keys and ids are most of what a waiting submission takes in Redis beyond its body. */
export const compactId = (id: string): string => Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url')

export const readCompactId = (compact: string): string =>
  Buffer.from(compact, 'base64url')
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')

/** Since which number an own id exists, and what it is of (`Sayings`). Scripts read the number from it. */
export const existsValue = (number: number, of: string): string => `${number}:${of}`

export const readExistsValue = (value: string): { existsFrom: number; of: string } => {
  const [number, of] = value.split(':')
  return { existsFrom: Number(number), of: of! }
}

/** The ids of jobs are numbers that each queue gives by itself. */
export const carrierValue = (queue: BatchQueueName, jobId: string): string => `${queue}:${jobId}`

export const readCarrier = (value: string): { queue: BatchQueueName; jobId: string } => {
  const [queue, jobId] = value.split(':')
  return { queue: queue as BatchQueueName, jobId: jobId! }
}

/** Numbers, and the moments in buckets, are microseconds since 1970 on Redis's clock. */
export const MICROSECONDS_PER_MS = 1_000

/** A batch, and its first number. */
export type Numbered = { batchId: string; number: number }

/** Batches of a sorted set by number, as Redis answers WITHSCORES. */
export const readByNumber = (membersAndScores: readonly string[]): Numbered[] =>
  Array.from({ length: membersAndScores.length / 2 }, (_, at) => ({
    batchId: membersAndScores[2 * at]!,
    number: Number(membersAndScores[2 * at + 1]),
  }))

/**
 * Hash: `ProcessReport` as JSON, by process id; sorted set: process ids by the Unix milliseconds of the last report; and string: there while
 * a process has its turn at something that one does for all.
 */
export const processKeys = (prefix: string) => {
  const base = `{${prefix}:processes}`
  return { figures: `${base}:figures`, seen: `${base}:seen`, turn: (name: string) => `${base}:turn:${name}` }
}
