import { canonicalDomain, canonicalName } from '../../contract/identity/keys.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Sql } from '../connection/postgres.ts'

/** An answer has at most this many characters of an object's JSON. */
export const MOST_JSON_CHARACTERS = 4_000
/** One more character shows that the object is longer than an answer allows. */
const READ_JSON_CHARACTERS = MOST_JSON_CHARACTERS + 1

/**
 * The customer, account, project and source of a feedback. `properties` and `sourceData` are the
 * first `READ_JSON_CHARACTERS` of JSON.
 */
export type FeedbackContext = {
  sourceId: string | null
  sourceData: string | null
  customer: { id: string; name: string | null; email: string | null; properties: string; feedback: number } | null
  account: AccountRow | null
  project: { id: string; name: string } | null
}
export type AccountRow = {
  id: string
  name: string | null
  domain: string | null
  contractValue: number | null
  properties: string
}

/** Returns undefined if the feedback does not exist, or is hidden. */
export const readFeedbackContext = async (
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<FeedbackContext | undefined> => {
  const [row] = await sql<FeedbackContext[]>`
    select f.source_id as "sourceId", left(f.source_data::text, ${READ_JSON_CHARACTERS}) as "sourceData",
      case when c.id is not null then json_build_object('id', c.id, 'name', c.name, 'email', c.email,
        'properties', left(c.properties::text, ${READ_JSON_CHARACTERS}), 'feedback', (
          select count(*) from feedback as o where o.workspace_id = ${workspaceId} and o.contact_id = c.id and not o.is_hidden)) end as customer,
      case when a.id is not null then json_build_object('id', a.id, 'name', a.name, 'domain', a.domain, 'contractValue', a.contract_value,
        'properties', left(a.properties::text, ${READ_JSON_CHARACTERS})) end as account,
      case when p.id is not null then json_build_object('id', p.id, 'name', p.name) end as project
    from feedback as f
    left join contact as c on c.workspace_id = f.workspace_id and c.id = f.contact_id
    left join account as a on a.workspace_id = f.workspace_id and a.id = coalesce(f.account_id, c.account_id)
    left join project as p on p.workspace_id = f.workspace_id and p.id = f.project_id
    where f.workspace_id = ${workspaceId} and f.id = ${id} and not f.is_hidden`
  return row
}

/** What people have set on a feedback, by the members of a correction. */
export const readCorrections = async (sql: Sql, workspaceId: string, id: string): Promise<JsonObject> => {
  const [row] = await sql<[{ corrections: JsonObject | null }?]>`
    select corrections from feedback where workspace_id = ${workspaceId} and id = ${id}`
  return row?.corrections ?? {}
}

/** What people have set of a theme, by the members of an edit. */
export const readThemeEdits = async (sql: Sql, workspaceId: string, id: string): Promise<JsonObject> => {
  const [row] = await sql<[JsonObject?]>`
    select given_name as name, is_hidden as "isHidden", merged_into as "mergedInto"
    from theme where workspace_id = ${workspaceId} and id = ${id}`
  return row ?? {}
}

/** How much feedback has nearly the same text, for each of these groups of such texts. */
export const countSimilar = async (
  sql: Sql,
  workspaceId: string,
  similarIds: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  const rows = await sql<{ id: string; feedback: number }[]>`
    select similar_id as id, count(*)::int as feedback from feedback
    where workspace_id = ${workspaceId} and similar_id = any (${similarIds}::uuid[]) and not is_hidden group by similar_id`
  return new Map(rows.map(({ id, feedback }) => [id, feedback]))
}

export type AccountContext = AccountRow & { customers: number }

/** An account and its number of customers. Returns undefined if the account does not exist. */
export const readAccountContext = async (
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<AccountContext | undefined> => {
  const [row] = await sql<AccountContext[]>`
    select a.id, a.name, a.domain, a.contract_value::float8 as "contractValue", left(a.properties::text, ${READ_JSON_CHARACTERS}) as properties, (
        select count(*)::float8 from contact as c where c.workspace_id = a.workspace_id and c.account_id = a.id) as customers
    from account as a where a.workspace_id = ${workspaceId} and a.id = ${id}`
  return row
}

/**
 * The id of the account that a text names. First the text counts as a name: of an account, or of the
 * account of the domain that the name came with. Else it counts as a domain.
 */
export const findAccount = async (sql: Sql, workspaceId: string, given: string): Promise<string | undefined> => {
  const [row] = await sql<{ id: string | null }[]>`
    select coalesce(
      (select coalesce(n.account_id, (select d.account_id from account_domain as d
          where d.workspace_id = n.workspace_id and d.domain = n.domain))
        from account_name as n where n.workspace_id = ${workspaceId} and n.name = ${canonicalName(given) ?? null}),
      (select d.account_id from account_domain as d
        where d.workspace_id = ${workspaceId} and d.domain = ${canonicalDomain(given) ?? null})) as id`
  return row?.id ?? undefined
}
