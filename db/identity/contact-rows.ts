import { comparableEmail, ownId, type Realm } from '../../contract/identity/own-id.ts'
import type { FoundContacts } from './find-contacts.ts'
import type { Sql } from '../postgres.ts'

/** So many rows are in memory at a time. One can be as large as a conversation. */
const ROWS_AT_ONCE = 20

/** All dead submissions of a workspace. `job` is its JSON text, `about` a JSON object with what else is known about it. */
export const deadOf = async function* (sql: Sql, workspaceId: string): AsyncGenerator<{ job: string; about: string }> {
  const dead = sql<{ job: string; about: string }[]>`
    select job, jsonb_build_object('id', id, 'died_at', died_at, 'reason', reason)::text as about from dead_submission
    where workspace_id = ${workspaceId} order by died_at, id`
  for await (const rows of dead.cursor(ROWS_AT_ONCE)) yield* rows
}

/** The rows of each table as JSON texts. Conversations belong to others as well, so only what identifies them is told. */
export const storedRows = (
  sql: Sql,
  realm: Realm,
  found: FoundContacts,
): Readonly<Record<string, AsyncGenerator<string>>> => {
  const ws = realm.workspaceId
  const ids = found.contactIds
  // Two queries, each by an index of its own: one query with `or` reads the whole workspace.
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
  const rowsOf = (query: ReturnType<Sql>): AsyncGenerator<string> => itemTexts(sql, query)
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
      sql`select jsonb_build_object('id', a.id, 'name', a.name) as item
        from (
          select distinct account_id from contact
          where workspace_id = ${ws} and id = any (${ids}::uuid[]) and account_id is not null
        ) as c, lateral (
          select id, name from account where workspace_id = ${ws} and id = c.account_id offset 0
        ) as a`,
    ),
    feedback: rowsOf(sql`select to_jsonb(f) - 'workspace_id' as item from ${records('feedback')} as f`),
    supersededReferences: rowsOf(
      sql`select to_jsonb(s) - 'workspace_id' as item from ${ofContacts('superseded_reference')} as s`,
    ),
    conversations: rowsOf(
      sql`select jsonb_build_object(
          'id', v.id, 'source', v.source, 'external_id', v.external_id, 'title', v.title, 'created_at', v.created_at) as item
        from (
          select conversation_id from ${ofContacts('conversation_contact')} as c
          union
          select conversation_id from ${records('message')} as m
        ) as of_contact, lateral (
          select * from conversation where workspace_id = ${ws} and id = of_contact.conversation_id offset 0
        ) as v`,
    ),
    messages: rowsOf(sql`select to_jsonb(m) - 'workspace_id' as item from ${records('message')} as m`),
  }
}

const itemTexts = async function* (sql: Sql, query: ReturnType<Sql>): AsyncGenerator<string> {
  const texts = sql<{ item: string }[]>`select item::text from (${query}) as selected`
  for await (const rows of texts.cursor(ROWS_AT_ONCE)) for (const { item } of rows) yield item
}

/** The claims of contacts. A claim has the hash of its email, and the email itself where a contact or key still has it. */
export const claimedEmails = async function* (sql: Sql, realm: Realm, found: FoundContacts): AsyncGenerator<string> {
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
