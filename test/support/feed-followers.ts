import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { Webhook as Verifier } from 'standardwebhooks'
import { hashKeyFrom } from '../../contract/identity/keys.ts'
import { webhookSecret } from '../../contract/token-format.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { createWebhook } from '../../db/webhooks.ts'
import { serveHttp } from './http-server.ts'
import type { HistoryService } from './submitted-history.ts'
import { ownMembers, storedRecords } from './stored-records.ts'
import { until } from './until.ts'

type Change = { position: number; kind: string; id: string; deleted: boolean; record?: object }
type Copy = Map<string, object>
/** `copy`: the records of the consumer. `note`: its counts, for the output. */
export type Follower = { name: string; copy: () => Copy; note: () => string; stop: () => Promise<unknown> }

const LIMITS = [1, 7, 50, 500]
const AFTER_TROUBLE_MS = 50
const PATIENCE_MS = 5_000

const apply = (copy: Copy, changes: readonly Change[]): void => {
  for (const { kind, id, deleted, record } of changes) {
    if (deleted) copy.delete(`${kind} ${id}`)
    else copy.set(`${kind} ${id}`, ownMembers(kind, record!))
  }
}

type FeedOptions = {
  /** The APIs of the consumer. */
  urls: readonly string[]
  /** Whether it restarts at the next API. It may then have stored part of a page without `next`. */
  restarts: boolean
}

/** Follows the feed. `stop` rejects after a wrong answer, or if positions did not increase. */
export const followFeed = (
  name: string,
  { adminToken }: Pick<HistoryService, 'adminToken'>,
  { urls, restarts }: FeedOptions,
): Follower => {
  const over = new AbortController()
  const copy: Copy = new Map()
  let kept: { next: string; last: number } = { next: '', last: 0 }
  let [pages, restartCount] = [0, 0]
  const read = async (): Promise<{ changes: Change[]; next: string } | undefined> => {
    const query = `limit=${LIMITS[pages % LIMITS.length]}${kept.next && `&after=${kept.next}`}`
    const headers = { Authorization: `Bearer ${adminToken}`, Prefer: 'wait=1' }
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const answer = await fetch(`${urls[restartCount % urls.length]}/api/v1/changes?${query}`, { headers, signal })
    if (answer.status === 503) return undefined
    assert.equal(answer.status, 200, await answer.clone().text())
    return (await answer.json()) as { changes: Change[]; next: string }
  }
  const follow = async (): Promise<void> => {
    while (!over.signal.aborted) {
      // While a process is away, the answer is missing or cut off.
      const page = await read().catch((error: unknown) => {
        if (error instanceof assert.AssertionError) throw error
        return undefined
      })
      if (page === undefined) {
        restartCount += restarts ? 1 : 0
        await pause(AFTER_TROUBLE_MS)
        continue
      }
      let { last } = kept
      for (const { position } of page.changes) {
        assert.ok(position > last, `${name}: position ${position} came after ${last}`)
        last = position
      }
      pages++
      if (restarts && pages % 3 === 0) {
        apply(copy, page.changes.slice(0, page.changes.length / 2))
        restartCount++
      } else {
        apply(copy, page.changes)
        kept = { next: page.next, last: Math.max(last, Number(page.next.split('-')[0])) }
      }
    }
  }
  const following = follow()
  // `stop` returns this promise, with its rejection.
  following.catch(() => {})
  return {
    name,
    copy: () => copy,
    note: () => `${pages} pages, ${restartCount} restarts`,
    stop: () => {
      over.abort()
      return following
    },
  }
}

type Message = { data: Change }

/**
 * Creates a webhook and its receiver, which refuses some deliveries and breaks off others. For each
 * record, the copy has the change with the highest position.
 */
export const receiveWebhook = async (
  name: string,
  sql: Sql,
  { workspaceId, environment }: Pick<HistoryService, 'workspaceId' | 'environment'>,
): Promise<Follower & { id: string }> => {
  const copy: Copy = new Map()
  const positions = new Map<string, number>()
  const seen = new Set<string>()
  let [received, refused, late, secret] = [0, 0, 0, '']
  let fault: Error | undefined
  const keep = (text: string, headers: Record<string, string>): void => {
    new Verifier(secret).verify(text, headers)
    const { data } = JSON.parse(text) as Message
    const key = `${data.kind} ${data.id}`
    if (data.position > (positions.get(key) ?? 0)) {
      apply(copy, [data])
      positions.set(key, data.position)
    } else if (!seen.has(headers['webhook-id']!)) late++
    seen.add(headers['webhook-id']!)
  }
  const server = await serveHttp((request, response, body) => {
    if (++received % 97 === 0) return request.socket.destroy()
    if (received % 31 === 0) {
      refused++
      return response.writeHead(503, { 'Retry-After': '0' }).end()
    }
    try {
      keep(String(body), request.headers as Record<string, string>)
    } catch (error) {
      fault ??= error instanceof Error ? error : new Error(String(error))
    }
    return response.writeHead(204).end()
  })
  const scope = { kinds: null, filter: null, holdUntilTagged: false, format: 'standard' as const }
  const id = (await createWebhook(sql, { workspaceId, url: server.url, from: 0, ...scope }))!
  secret = webhookSecret(hashKeyFrom(environment['HASH_KEY']!), id, 1)
  return {
    id,
    name,
    copy: () => copy,
    note: () => `${received} deliveries, ${refused} refused, ${late} after a later change`,
    stop: async () => {
      server.stop()
      if (fault !== undefined) throw fault
    },
  }
}

/** The records of the workspace in the form of the API. */
export const recordsOf = async (sql: Sql, workspaceId: string): Promise<Copy> => {
  const rows = await storedRecords(sql, workspaceId)
  return new Map(rows.map(({ name, record }) => [name, JSON.parse(record) as object]))
}

/** Waits until each copy equals the tables, and stops the followers. Returns their notes. */
export const assertCopiesEqualTables = async (
  followers: readonly Follower[],
  { sql, workspaceId }: { sql: Sql; workspaceId: string },
): Promise<string> => {
  const sorted = (copy: Copy) => [...copy].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const tables = async () => sorted(await recordsOf(sql, workspaceId))
  try {
    for (const { copy } of followers) {
      const isEqual = async () => isDeepStrictEqual(sorted(copy()), await tables())
      // The code below reports the differences.
      await until('the copy equals the tables', isEqual).catch(() => {})
    }
    const stored = await tables()
    for (const { name, copy } of followers) assert.deepEqual(sorted(copy()), stored, name)
    assert.ok(stored.length > 0)
    return `${stored.length} records; ${followers.map(({ name, note }) => `${name}: ${note()}`).join('; ')}`
  } finally {
    await Promise.all(followers.map(({ stop }) => stop()))
  }
}
