import type { RedisClient } from '../queue/connect-redis.ts'
import { type Names, namesIn, namesInPurge } from '../contract/identity/names.ts'
import type { HashKey, Realm } from '../contract/identity/own-id.ts'
import type { PurgeRequest } from '../contract/purge-request.ts'
import { claimedEmails, deadOf, storedRows } from '../db/identity/contact-rows.ts'
import { findContacts, type FoundContacts, keysOfContacts } from '../db/identity/find-contacts.ts'
import type { Sql } from '../db/postgres.ts'
import { parseJob } from '../contract/job.ts'
import { queuedSubmissions } from '../queue/queued-submissions.ts'

export type Stores = { sql: Sql; redis: RedisClient; prefix: string; hashKey: HashKey }
export type ExportRequest = { workspace: { id: string; name: string }; wanted: PurgeRequest; at: Date }

/** `groups`: external ids that the person has; `asked`: those that were asked for in all sources. All are hashed. */
type PersonNames = { keys: ReadonlySet<string>; groups: ReadonlySet<string>; asked: ReadonlySet<string> }
type Person = { realm: Realm; found: FoundContacts; names: PersonNames }

/**
 * Everything that is held about the contacts that a purge of the same words would concern, as one JSON document in pieces. Only a
 * few records are in memory at a time. Undefined when nothing is held. Queues are read before tables, so a submission that is stored
 * meanwhile is told twice rather than never.
 */
export const exportContacts = async (
  stores: Stores,
  { workspace, wanted, at }: ExportRequest,
): Promise<AsyncGenerator<string> | undefined> => {
  const { sql, hashKey } = stores
  const realm = { hashKey, workspaceId: workspace.id }
  const found = await findContacts(sql, realm, wanted)
  const person = { realm, found, names: await personNames(stores, { realm, wanted, found }) }
  const isHeld =
    found.contactIds.length > 0 ||
    found.externalGroup !== null ||
    (await hasAny(deadSubmissions(stores, person))) ||
    (await hasAny(queuedJobs(stores, person)))
  return isHeld ? document(stores, person, { exportedAt: at.toISOString(), workspace: workspace.name }) : undefined
}

const hasAny = async (items: AsyncGenerator): Promise<boolean> => {
  const first = await items.next()
  await items.return(undefined)
  return first.done !== true
}

const document = async function* (stores: Stores, person: Person, head: Readonly<Record<string, string>>) {
  yield `${JSON.stringify(head).slice(0, -1)},\n"queuedJobs": `
  let queued = 0
  for await (const piece of list(queuedJobs(stores, person))) {
    yield piece.text
    queued = piece.items
  }
  yield `,\n"queuedJobCount": ${queued}`
  yield* member('deadSubmissions', deadSubmissions(stores, person))
  for (const [name, rows] of Object.entries(storedRows(stores.sql, person.realm, person.found)))
    yield* member(name, rows)
  yield* member('claimedEmails', claimedEmails(stores.sql, person.realm, person.found))
  yield '\n}\n'
}

const member = async function* (name: string, items: AsyncIterable<string>): AsyncGenerator<string> {
  yield `,\n${JSON.stringify(name)}: `
  for await (const { text } of list(items)) yield text
}

const list = async function* (items: AsyncIterable<string>): AsyncGenerator<{ text: string; items: number }> {
  let count = 0
  for await (const item of items) {
    yield { text: `${count === 0 ? '[' : ','}\n${item}`, items: count + 1 }
    count += 1
  }
  yield { text: count === 0 ? '[]' : '\n]', items: count }
}

const queuedJobs = async function* ({ redis, prefix }: Stores, { realm, names }: Person): AsyncGenerator<string> {
  for await (const submission of queuedSubmissions(redis, prefix, realm.workspaceId)) {
    if (isNamed(namesIn(realm, submission), names)) yield JSON.stringify(submission)
  }
}

const deadSubmissions = async function* ({ sql }: Stores, { realm, names }: Person): AsyncGenerator<string> {
  for await (const { job, about } of deadOf(sql, realm.workspaceId)) {
    const parsed = parseJob(job)
    if (parsed && isNamed(namesIn(realm, parsed), names)) yield `${about.slice(0, -1)}, "job": ${job}}`
  }
}

/** Whether names are of a person. An external id whose source is left open names the person in any source. */
const isNamed = ({ exact, anySource, oneSource }: Names, person: PersonNames): boolean =>
  exact.some((key) => person.keys.has(key)) ||
  anySource.some((group) => person.groups.has(group) || person.asked.has(group)) ||
  oneSource.some((group) => person.asked.has(group))

/** Everything by which the contacts that were found are known, and what was asked for: a queue may hold that alone. */
const personNames = async (
  { sql }: Stores,
  { realm, wanted, found }: { realm: Realm; wanted: PurgeRequest; found: FoundContacts },
): Promise<PersonNames> => {
  const { keys, groups } = await keysOfContacts(sql, realm.workspaceId, found.contactIds)
  const asked = namesInPurge(realm, wanted)
  return {
    keys: new Set([...found.contactIds, ...keys, ...asked.exact]),
    groups: new Set(groups),
    asked: new Set(asked.anySource),
  }
}
