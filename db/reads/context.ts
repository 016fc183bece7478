import { canonicalDomain, canonicalName } from '../../contract/identity/canonical.ts'
import type { Sql } from '../connection/postgres.ts'
import { readRecords } from './records.ts'

/** The most characters of an object to read. */
const MOST_JSON_CHARACTERS = 5_000

/** The customer and account of a feedback, and its subject. Objects are JSON text. */
export type FeedbackContext = {
  sourceId: string | null
  sourceData: string | null
  customer: { id: string; name: string | null; email: string | null; properties: string; feedback: number } | null
  account: AccountRow | null
  project: { id: string; name: string } | null
  /** Other recent feedback of the customer, as JSON texts. */
  others: string[]
}
export type AccountRow = { id: string; name: string | null; domain: string | null; properties: string }

/** Returns undefined if the feedback does not exist. */
export const readFeedbackContext = async (
  sql: Sql,
  workspaceId: string,
  { id, others }: { id: string; others: number },
): Promise<FeedbackContext | undefined> => {
  const [row] = await sql<(Omit<FeedbackContext, 'others'> & { otherIds: string[] })[]>`
    select f.source_id as "sourceId", left(f.source_data::text, ${MOST_JSON_CHARACTERS}) as "sourceData",
      case when c.id is not null then json_build_object('id', c.id, 'name', c.name, 'email', c.email,
        'properties', left(c.properties::text, ${MOST_JSON_CHARACTERS}), 'feedback', (
          select count(*) from feedback as o where o.workspace_id = c.workspace_id and o.contact_id = c.id)) end as customer,
      case when a.id is not null then json_build_object('id', a.id, 'name', a.name, 'domain', a.domain,
        'properties', left(a.properties::text, ${MOST_JSON_CHARACTERS})) end as account,
      case when p.id is not null then json_build_object('id', p.id, 'name', p.name) end as project,
      coalesce((select json_agg(o.id order by o.created_at desc, o.id desc) from (
        select o.id, o.created_at from feedback as o
        where o.workspace_id = f.workspace_id and o.contact_id = f.contact_id and o.id <> f.id
        order by o.created_at desc, o.id desc limit ${others}) as o), '[]') as "otherIds"
    from feedback as f
    left join contact as c on c.workspace_id = f.workspace_id and c.id = f.contact_id
    left join account as a on a.workspace_id = f.workspace_id and a.id = coalesce(f.account_id, c.account_id)
    left join project as p on p.workspace_id = f.workspace_id and p.id = f.project_id
    where f.workspace_id = ${workspaceId} and f.id = ${id}`
  if (row === undefined) return undefined
  const { otherIds, ...context } = row
  return { ...context, others: await feedbackRecords(sql, workspaceId, otherIds) }
}

/** An account, its number of customers, and its latest feedback as JSON texts. */
export type AccountStory = AccountRow & { customers: number; latest: string[] }

/**
 * Returns undefined if the account does not exist. Feedback without an account belongs to the
 * account of its customer.
 */
export const readAccountStory = async (
  sql: Sql,
  workspaceId: string,
  { id, latest }: { id: string; latest: number },
): Promise<AccountStory | undefined> => {
  const [row] = await sql<(Omit<AccountStory, 'latest'> & { latestIds: string[] })[]>`
    select a.id, a.name, a.domain, left(a.properties::text, ${MOST_JSON_CHARACTERS}) as properties, (
        select count(*)::float8 from contact as c where c.workspace_id = a.workspace_id and c.account_id = a.id) as customers,
      coalesce((select json_agg(l.id order by l.created_at desc, l.id desc) from (
        select o.id, o.created_at from feedback as o where o.workspace_id = a.workspace_id and o.account_id = a.id
        union all
        select o.id, o.created_at from contact as c
        join feedback as o on o.workspace_id = c.workspace_id and o.contact_id = c.id and o.account_id is null
        where c.workspace_id = a.workspace_id and c.account_id = a.id
        order by created_at desc, id desc limit ${latest}) as l), '[]') as "latestIds"
    from account as a where a.workspace_id = ${workspaceId} and a.id = ${id}`
  if (row === undefined) return undefined
  const { latestIds, ...account } = row
  return { ...account, latest: await feedbackRecords(sql, workspaceId, latestIds) }
}

const feedbackRecords = async (sql: Sql, workspaceId: string, ids: readonly string[]): Promise<string[]> => {
  const read = await readRecords(
    sql,
    workspaceId,
    ids.map((id) => ({ kind: 'feedback', id })),
  )
  return read.filter((record) => record !== undefined)
}

/** The id of the account that a name or a domain means, compared in canonical form. */
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
