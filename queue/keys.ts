import { Buffer } from 'node:buffer'
import type { Operation } from '../contract/submission.ts'

// The keys of the service in Redis, with their types and values. A hash tag keeps the keys of a group
// of workspaces in one slot of a cluster. BullMQ names the keys of its queues (job-queues.ts).

/** Ids of workspaces are random, so their first two digits make groups of about the same size. */
const GROUP_DIGITS = 2

/** The group of a workspace. */
export const groupOf = (workspaceId: string): string => workspaceId.slice(0, GROUP_DIGITS)

/** All groups of workspaces. */
export const GROUPS: readonly string[] = Array.from({ length: 16 ** GROUP_DIGITS }, (_, group) =>
  group.toString(16).padStart(GROUP_DIGITS, '0'),
)

/**
 * The keys of a group. Scripts write them in the same step as the keys of a workspace, so no crash
 * and no failover parts the two.
 */
export const groupKeys = (prefix: string, group: string) => {
  const begin = `{${prefix}:${group}}:`
  return {
    begin,
    /** Set: the workspaces whose logs have entries. */
    withEntries: `${begin}with-entries`,
    /** Hash: the size of each idempotency book, by workspace. */
    books: `${begin}books`,
    /** A key that never exists, like `never` of a workspace. */
    never: `${begin}never`,
  }
}

/**
 * The keys of one workspace.
 *
 * @param prefix REDIS_PREFIX
 */
export const workspaceKeys = (prefix: string, workspaceId: string) => {
  const begin = beginOf(prefix, workspaceId)
  return {
    /** A pattern that matches all keys of the workspace and no others. */
    pattern: `${begin}*`,
    /** Stream: the log. log-entry.ts describes an entry. */
    log: `${begin}log`,
    /** Hash: the state of the log and its lease. lua/functions/log.lua describes the fields. */
    state: `${begin}state`,
    /**
     * List: the times of the admissions that count for a rate limit, in microseconds, the oldest
     * last. It expires after the limit's window.
     */
    bucket: (operation: Operation) => `${begin}bucket:${operation}`,
    /**
     * Hash: the book of recent idempotency keys. Each value is a `recordBegin` and a hexadecimal
     * number.
     */
    idempotency: `${begin}idempotency`,
    /**
     * List: the keys in the book, the oldest first. Each element is `number key…`, with the keys of
     * one log entry.
     */
    keyOrder: `${begin}key-order`,
    /**
     * A key that never exists. While a slot of a cluster moves, Redis stops a running script at the
     * first missing key. But a script with a missing key among its KEYS does not even begin. So
     * each script that builds key names gets this key.
     *
     * Source:
     * https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#multiple-keys-operations
     */
    never: `${begin}never`,
  }
}

/** The KEYS of a script that builds the other key names of a workspace itself, from `begin`. */
export const keysOfScript = (
  prefix: string,
  workspaceId: string,
): { keys: readonly [state: string, never: string]; begin: string } => {
  const { state, never } = workspaceKeys(prefix, workspaceId)
  return { keys: [state, never], begin: beginOf(prefix, workspaceId) }
}

const beginOf = (prefix: string, workspaceId: string): string =>
  `${groupKeys(prefix, groupOf(workspaceId)).begin}${workspaceId}:`

/** An id in 22 characters, which saves memory of Redis. */
export const compactId = (id: string): string => Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url')

export const readCompactId = (compact: string): string =>
  Buffer.from(compact, 'base64url')
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')

/** Acceptance numbers, and the times in buckets, are microseconds since 1970 on Redis's clock. */
export const MICROSECONDS_PER_MS = 1_000

/**
 * `ids`: set of the ids of processes. `report`: a `ProcessReport` as JSON, which expires unless the
 * process reports again. `turn`: a string that exists until the next turn at a task. `round`: the
 * number of turns at a task that looks at one group of workspaces each.
 */
export const processKeys = (prefix: string) => {
  const base = `{${prefix}:processes}`
  return {
    ids: `${base}:ids`,
    report: (id: string) => `${base}:report:${id}`,
    turn: (name: string) => `${base}:turn:${name}`,
    round: (name: string) => `${base}:round:${name}`,
  }
}
