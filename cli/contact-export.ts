import type { RedisClient } from '../queue/connect-redis.ts'
import { concerns, type Concerned, namesOf } from './concerned.ts'
import { comparableEmail, type HashKey, ownId, type Realm } from '../contract/identity/own-id.ts'
import type { PurgeRequest } from '../contract/purge-request.ts'
import { findContacts, type FoundContacts } from '../db/find-contacts.ts'
import type { Sql } from '../db/postgres.ts'
import { parseJob } from '../contract/job.ts'
import { queuedSubmissions } from '../queue/queued-submissions.ts'

export type Stores = { sql: Sql; redis: RedisClient; prefix: string; hashKey: HashKey }
export type ExportRequest = { workspace: { id: string; name: string }; wanted: PurgeRequest; at: Date }

type Person = { realm: Realm; found: FoundContacts; names: Concerned }

/** A row can be as large as a conversation, and this many are held at a time. */
const ROWS_AT_ONCE = 20

/**
 * All that is held about the contacts whom a purge of the same words would concern: one JSON document, in pieces, of which
 * no more than a few records are in memory. Undefined when there is nothing. Queues are read before what is stored, so
 * what moves meanwhile is in both rather than in neither.
 */
export const exportContacts = async (
  stores: Stores,
  { workspace, wanted, at }: ExportRequest,
): Promise<AsyncGenerator<string> | undefined> => {
  const { sql, hashKey } = stores
  const realm = { hashKey, workspaceId: workspace.id }
  const found = await findContacts(sql, realm, wanted)
  const person = { realm, found, names: await namesOf(sql, realm, { wanted, found }) }
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
  for (const [name, rows] of Object.entries(storedRows(stores.sql, person))) yield* member(name, rows)
  yield* member('claimedEmails', claimedEmails(stores.sql, person))
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
  for await (const { job, text } of queuedSubmissions(redis, prefix)) {
    if (job.workspaceId === realm.workspaceId && concerns(realm, job, names)) yield text
  }
}

const deadSubmissions = async function* ({ sql }: Stores, { realm, names }: Person): AsyncGenerator<string> {
  const dead = sql<{ job: string; about: string }[]>`
    select job, jsonb_build_object('id', id, 'died_at', died_at, 'reason', reason)::text as about from dead_submission
    where workspace_id = ${realm.workspaceId} order by died_at, id`
  for await (const rows of dead.cursor(ROWS_AT_ONCE)) {
    for (const { job, about } of rows) {
      const parsed = parseJob(job)
      if (parsed && concerns(realm, parsed, names)) yield `${about.slice(0, -1)}, "job": ${job}}`
    }
  }
}

/** Whole rows, named after their tables' contents; of conversations what tells them, since they are others' as well. */
const storedRows = (sql: Sql, { realm, found }: Person): Readonly<Record<string, AsyncGenerator<string>>> => {
  const ws = realm.workspaceId
  const ids = found.contactIds
  // Each by an index of its own: asked for as one or the other, all of a workspace is read.
  const ofContacts = (table: string, column = 'contact_id') => sql`(
    select * from ${sql(table)} where workspace_id is not distinct from ${ws} and ${sql(column)} = any (${ids}::uuid[])
  )`
  const records = (table: string) => sql`(
    select * from ${ofContacts(table)} as of_contact
    union all
    select of_nobody.* from (
      select distinct record_id from unresolved_reference where workspace_id = ${ws} and ref_id = ${found.externalGroup}::uuid
    ) as u, lateral (
      select * from ${sql(table)} where workspace_id = ${ws} and id = u.record_id and contact_id is null offset 0
    ) as of_nobody
  )`
  const rowsOf = async function* (query: ReturnType<Sql>): AsyncGenerator<string> {
    const texts = sql<{ item: string }[]>`select item::text from (${query}) as selected`
    for await (const rows of texts.cursor(ROWS_AT_ONCE)) for (const { item } of rows) yield item
  }
  return {
    contacts: rowsOf(
      sql`select to_jsonb(c) - 'workspace_id' as item from contact as c
        where workspace_id = ${ws} and id = any (${ids}::uuid[])`,
    ),
    externalIds: rowsOf(
      sql`select to_jsonb(e) - 'workspace_id' as item from ${ofContacts('contact_external_id')} as e`,
    ),
    identityKeys: rowsOf(
      sql`select to_jsonb(k) - 'workspace_id' as item from ${ofContacts('identity_key', 'subject_id')} as k`,
    ),
    accounts: rowsOf(
      sql`select jsonb_build_object('id', a.id, 'name', a.name) as item from account as a
        where workspace_id = ${ws} and id in (
          select account_id from contact where workspace_id = ${ws} and id = any (${ids}::uuid[]))`,
    ),
    feedback: rowsOf(sql`select to_jsonb(f) - 'workspace_id' as item from ${records('feedback')} as f`),
    supersededReferences: rowsOf(
      sql`select to_jsonb(s) - 'workspace_id' as item from ${ofContacts('superseded_reference')} as s`,
    ),
    conversations: rowsOf(
      sql`select jsonb_build_object(
          'id', v.id, 'source', v.source, 'external_id', v.external_id, 'title', v.title, 'created_at', v.created_at) as item
        from conversation as v where workspace_id = ${ws} and id in (
          select conversation_id from ${ofContacts('conversation_contact')} as c
          union
          select conversation_id from ${records('message')} as m)`,
    ),
    messages: rowsOf(sql`select to_jsonb(m) - 'workspace_id' as item from ${records('message')} as m`),
  }
}

/** A claim has the email's hash. The email itself is told where it is held: a later one of the same key takes its place. */
const claimedEmails = async function* (sql: Sql, { realm, found }: Person): AsyncGenerator<string> {
  const { workspaceId: ws } = realm
  const held = await sql<{ email: string }[]>`
    select email from contact where workspace_id = ${ws} and id = any (${found.contactIds}::uuid[]) and email is not null
    union
    select facts -> 'c:email' ->> 1 from identity_key
    where workspace_id is not distinct from ${ws} and subject_id = any (${found.contactIds}::uuid[]) and facts -> 'c:email' ->> 1 is not null`
  const emailOf = new Map(held.map(({ email }) => [ownId(realm, 'contact_email', comparableEmail(email) ?? ''), email]))
  const claims = await sql<{ keyId: string; from: Date; to: Date }[]>`
    select key_of(${ws}, c.key_id) as "keyId", acceptance_time(min(c.number)) as "from", acceptance_time(max(c.number)) as "to"
    from (
      select id from identity_key
      where workspace_id is not distinct from ${ws} and subject_id = any (${found.contactIds}::uuid[]) offset 0
    ) as k, lateral (
      select key_id, number from identity_claim where workspace_id is not distinct from ${ws} and target_id = k.id offset 0
    ) as c
    group by c.key_id order by 2, 1`
  for (const { keyId, from, to } of claims) {
    yield JSON.stringify({
      key_id: keyId,
      email: emailOf.get(keyId) ?? null,
      first_claimed_at: from,
      last_claimed_at: to,
    })
  }
}
