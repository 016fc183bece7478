import { namedKeys } from '../contract/identity/purge-keys.ts'
import type { HashKey, Realm } from '../contract/identity/keys.ts'
import type { PurgeRequest } from '../contract/purge-request.ts'
import type { Submission } from '../contract/submission.ts'
import { readDead, readRowsOfContacts } from '../db/identity/contact-rows.ts'
import { findContacts, type FoundContacts } from '../db/purges/decide-purge.ts'
import type { Sql } from '../db/connection/postgres.ts'
import type { RedisClient } from '../queue/redis/connect-redis.ts'
import { createLog } from '../queue/log/log.ts'

type ExportStores = { sql: Sql; redis: RedisClient; prefix: string; hashKey: HashKey }
type ExportRequest = { workspace: { id: string; name: string }; wanted: PurgeRequest; at: Date }

/** `keys`: the requested keys, and those by which submissions name the found contacts. */
type ContactKeys = { realm: Realm; keys: ReadonlySet<string> }

/**
 * All data about the contacts that a purge with the same options would match, as one JSON document
 * in pieces. Undefined when there is no data. Memory holds only a few records at a time. The last
 * look for contacts and their rows comes after the log is read. So a submission that is applied in
 * between appears twice, not never.
 */
export const exportContacts = async (
  stores: ExportStores,
  { workspace, wanted, at }: ExportRequest,
): Promise<AsyncGenerator<string> | undefined> => {
  const realm = { hashKey: stores.hashKey, workspaceId: workspace.id }
  const find = (): Promise<FoundContacts> => findContacts(stores.sql, realm, wanted)
  const person = { realm, keys: new Set((await find()).keys) }
  const isHeld =
    (await hasAny(queuedSubmissions(stores, person))) ||
    (await hasAny(deadSubmissions(stores, person))) ||
    hasRows(await find())
  const head = { exportedAt: at.toISOString(), workspace: workspace.name }
  return isHeld ? document(stores, { person, find, head }) : undefined
}

const hasRows = ({ contactIds, waitingKey }: FoundContacts): boolean => contactIds.length > 0 || waitingKey !== null

const hasAny = async (items: AsyncGenerator): Promise<boolean> => {
  for await (const _first of items) return true
  return false
}

type Contents = { person: ContactKeys; find: () => Promise<FoundContacts>; head: Readonly<Record<string, string>> }

const document = async function* (stores: ExportStores, { person, find, head }: Contents) {
  yield JSON.stringify(head).slice(0, -1)
  yield* member('queuedSubmissions', queuedSubmissions(stores, person))
  yield* member('deadSubmissions', deadSubmissions(stores, person))
  for (const [name, rows] of Object.entries(readRowsOfContacts(stores.sql, person.realm, await find())))
    yield* member(name, rows)
  yield '\n}\n'
}

const member = async function* (name: string, items: AsyncIterable<string>): AsyncGenerator<string> {
  yield `,\n${JSON.stringify(name)}: [`
  let between = '\n'
  for await (const item of items) {
    yield between + item
    between = ',\n'
  }
  yield '\n]'
}

const queuedSubmissions = async function* (
  { redis, prefix }: ExportStores,
  person: ContactKeys,
): AsyncGenerator<string> {
  for await (const submission of createLog(redis, prefix).readWaiting(person.realm.workspaceId)) {
    if (isNamed(person, submission)) yield JSON.stringify(submission)
  }
}

const deadSubmissions = async function* ({ sql }: ExportStores, person: ContactKeys): AsyncGenerator<string> {
  for await (const { submission, about } of readDead(sql, person.realm.workspaceId)) {
    const isTheirs = isNamed(person, JSON.parse(submission) as Submission)
    if (isTheirs) yield `${about.slice(0, -1)}, "submission": ${submission}}`
  }
}

const isNamed = ({ realm, keys }: ContactKeys, submission: Submission): boolean =>
  namedKeys(realm, submission).some((key) => keys.has(key))
