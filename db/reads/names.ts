import type { Sql } from '../connection/postgres.ts'

/** Something that a filter can name. A tag and a source have no id: the name is the value. */
export type NamedThing = {
  kind: 'account' | 'project' | 'theme' | 'tag' | 'source' | 'customer'
  id: string | null
  name: string
  domain: string | null
  contractValue: number | null
}

const MOST_FOUND = 20

/**
 * What has this text in its name, the most similar names first. `ofPeople`: also customers. This
 * looks at all names.
 */
export const findNames = (
  sql: Sql,
  workspaceId: string,
  { name, ofPeople }: { name: string; ofPeople: boolean },
): Promise<NamedThing[]> => {
  const pattern = `%${name.replaceAll(/[\\%_]/g, '\\$&')}%`
  return sql<NamedThing[]>`
    select kind, id, name, domain, "contractValue" from (
      select 'account' as kind, a.id, coalesce(a.name, a.domain) as name, a.domain, a.contract_value::float8 as "contractValue"
      from account as a where a.workspace_id = ${workspaceId} and (a.name ilike ${pattern} or a.domain ilike ${pattern})
      union all
      select 'project', p.id, p.name, null, null from project as p
      where p.workspace_id = ${workspaceId} and p.name ilike ${pattern}
      union all
      select 'theme', h.id, h.name, null, null from theme as h
      where h.workspace_id = ${workspaceId} and h.name ilike ${pattern} and h.shown_id = h.id
      union all
      select 'tag', null, t.title, null, null from feedback_category as t
      where t.workspace_id = ${workspaceId} and t.title ilike ${pattern}
      union all
      select 'source', null, s.source, null, null from source as s
      where s.workspace_id = ${workspaceId} and s.source ilike ${pattern}
      union all
      select 'customer', c.id, c.name, null, null from contact as c
      where ${ofPeople}::boolean and c.workspace_id = ${workspaceId} and c.name ilike ${pattern}
    ) as found
    order by length(name), kind, name limit ${MOST_FOUND}`.execute()
}

/** The contract values of these accounts, if they have one. */
export const readContractValues = async (
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  const rows = await sql<{ id: string; value: number }[]>`
    select id, contract_value::float8 as value from account
    where workspace_id = ${workspaceId} and id = any (${ids}::uuid[]) and contract_value is not null`
  return new Map(rows.map(({ id, value }) => [id, value]))
}
