import { Buffer } from 'node:buffer'
import type { Operation } from '../contract/submission.ts'

// All our keys in Redis, with their types and values. A hash tag keeps the keys of a workspace in
// one slot of a cluster. BullMQ names the other keys, with a prefix for each queue (job-queues.ts).

/**
 * The keys of one workspace.
 *
 * @param prefix REDIS_PREFIX
 */
export const workspaceKeys = (prefix: string, workspaceId: string) => {
  const begin = beginOf(prefix, workspaceId)
  return {
    /** A pattern that matches all keys of the workspace, and no others. */
    every: `${begin}*`,
    /** Stream: the log. log-entry.ts describes an entry. */
    log: `${begin}log`,
    /**
     * Hash, about the whole log: `number` (the last acceptance number given), `appended`, `again`
     * (how many of the appended were in the log before) and `bytes`. About what is applied:
     * `applied` (a hint at the position in Postgres), `done` and `doneBytes` (what was appended
     * before the first submission behind it), `oldest` (the number of that submission; it may be
     * left over while nothing waits), and `redoTo` with `redoAt` (entries up to `redoTo` were
     * applied by `redoAt`, in ms). `purge` and `identify`: the numbers of the last purge, and of
     * the last identify of a contact or conversation. `forgotten`: idempotency keys of submissions
     * up to this number may be missing. The lease: `holder`, `until` (ms), `took` (how many
     * submissions were read under it), `stride` (absent: full), `quarantine` (there while one is
     * under way) and `alone` (how many workers died in quarantine).
     */
    state: `${begin}state`,
    /**
     * List: the microseconds at which the missing tokens of a rate limit were spent, oldest last.
     * Gone after the limit's window.
     */
    bucket: (operation: Operation) => `${begin}bucket:${operation}`,
    /**
     * Hash: the book of recent idempotency keys, each with its `recordBegin` and hexadecimal
     * number.
     */
    idempotency: `${begin}idempotency`,
    /** List: the order of the keys in the book: `number key…`, oldest first. */
    keyOrder: `${begin}key-order`,
    /**
     * Never there. While a cluster moves a slot, it refuses a script as a whole if one of several
     * KEYS is missing, until the slot has moved. But it ends a script half-way at the first missing
     * key that is not among its KEYS. So each script that names keys by itself gets this one.
     * Source:
     * https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#multiple-keys-operations
     */
    never: `${begin}never`,
  }
}

/** The KEYS of a script that names the other keys of a workspace by itself, behind `begin`. */
export const keysOfScript = (
  prefix: string,
  workspaceId: string,
): { keys: readonly [state: string, never: string]; begin: string } => {
  const { state, never } = workspaceKeys(prefix, workspaceId)
  return { keys: [state, never], begin: beginOf(prefix, workspaceId) }
}

const beginOf = (prefix: string, workspaceId: string): string => `{${prefix}:${workspaceId}}:`

/** An id in 22 characters: ids are most of what a waiting submission takes beyond its body. */
export const compactId = (id: string): string => Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url')

export const readCompactId = (compact: string): string =>
  Buffer.from(compact, 'base64url')
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')

/** Numbers, and the moments in buckets, are microseconds since 1970 on Redis's clock. */
export const MICROSECONDS_PER_MS = 1_000

/**
 * Hash: `ProcessReport` as JSON, by process id. Sorted set: process ids by the Unix milliseconds of
 * their last report. String: there while a process has its turn at a task that one does for all.
 */
export const processKeys = (prefix: string) => {
  const base = `{${prefix}:processes}`
  return { figures: `${base}:figures`, seen: `${base}:seen`, turn: (name: string) => `${base}:turn:${name}` }
}
