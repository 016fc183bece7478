import type { Realm } from '../../contract/identity/keys.ts'
import type { Sql } from '../connection/postgres.ts'
import type { FoundContacts } from '../purges/decide-purge.ts'

/** The most rows in memory. One row can be as large as a conversation. */
const ROWS_AT_ONCE = 20

/** A query, or a part of one. */
type Rows = ReturnType<Sql>

/**
 * `submission`: the JSON text of a dead submission. `about`: JSON with its id, time of death and
 * reason.
 */
type DeadRow = { submission: string; about: string }

/** All dead submissions of a workspace. */
export const readDead = async function* (sql: Sql, workspaceId: string): AsyncGenerator<DeadRow> {
  const dead = sql<DeadRow[]>`
    select submission, jsonb_build_object('id', id, 'died_at', died_at, 'reason', reason)::text as about
    from dead_submission where workspace_id = ${workspaceId} order by died_at, id`
  for await (const rows of dead.cursor(ROWS_AT_ONCE)) yield* rows
}

/**
 * The rows of each table as JSON texts. Conversations and accounts can also belong to other
 * contacts, so only their identifying columns are included.
 */
export const readRowsOfContacts = (
  sql: Sql,
  { workspaceId: ws }: Realm,
  { contactIds: ids, waitingKey }: FoundContacts,
): Readonly<Record<string, AsyncGenerator<string>>> => {
  // Looks up one contact after the other, and waiting records in a second part of the query. With
  // `or`, or with `any` for another index than the primary key, a plan could read the whole
  // workspace.
  const ofContacts = (table: string): Rows => sql`(
    select held.* from unnest(${ids}::uuid[]) as c (id) cross join lateral (
      select * from ${sql(table)} as k where k.workspace_id = ${ws} and k.contact_id = c.id offset 0
    ) as held
  )`
  const records = (table: string, slot: 'c' | 'm'): Rows => sql`(
    select * from ${ofContacts(table)} as of_contact
    union all
    select waiting.* from unresolved as u cross join lateral (
      select * from ${sql(table)} as k where k.workspace_id = ${ws} and k.id = u.record_id limit 1
    ) as waiting
    where u.workspace_id = ${ws} and u.key_id = ${waitingKey}::uuid and u.slot = ${slot}
  )`
  const wholeRows = (table: Rows): AsyncGenerator<string> =>
    itemTexts(sql, sql`select to_jsonb(r) - 'workspace_id' as item from ${table} as r`)
  return {
    contacts: wholeRows(sql`(select * from contact where workspace_id = ${ws} and id = any (${ids}::uuid[]))`),
    externalIds: wholeRows(ofContacts('contact_external_id')),
    emails: wholeRows(ofContacts('contact_email')),
    aliases: wholeRows(ofContacts('contact_alias')),
    accounts: itemTexts(sql, accountsOf(sql, ws, ids)),
    feedback: wholeRows(records('feedback', 'c')),
    conversations: itemTexts(
      sql,
      conversationsAmong(sql, ws, [ofContacts('conversation_contact'), records('message', 'm')]),
    ),
    messages: wholeRows(records('message', 'm')),
  }
}

const itemTexts = async function* (sql: Sql, query: Rows): AsyncGenerator<string> {
  const texts = sql<{ item: string }[]>`select item::text from (${query}) as selected`
  for await (const rows of texts.cursor(ROWS_AT_ONCE)) for (const { item } of rows) yield item
}

const accountsOf = (sql: Sql, ws: string, contactIds: readonly string[]): Rows => sql`
  select jsonb_build_object('id', a.id, 'name', a.name) as item
  from (
    select distinct held.account_id from unnest(${contactIds}::uuid[]) as i (id) cross join lateral (
      select k.account_id from contact as k where k.workspace_id = ${ws} and k.id = i.id limit 1
    ) as held
  ) as c cross join lateral (
    select id, name from account where workspace_id = ${ws} and id = c.account_id limit 1
  ) as a`

/** The conversations of contacts and of messages. */
const conversationsAmong = (sql: Sql, ws: string, [contacts, messages]: readonly [Rows, Rows]): Rows => sql`
  select jsonb_build_object(
    'id', v.id, 'source', v.source, 'external_id', v.external_id, 'title', v.title, 'created_at', v.created_at) as item
  from (
    select conversation_id from ${contacts} as c union select conversation_id from ${messages} as m
  ) as of_contact cross join lateral (
    select * from conversation as k where k.workspace_id = ${ws} and k.id = of_contact.conversation_id limit 1
  ) as v`
