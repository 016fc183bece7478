import type { Sql } from '../postgres.ts'

type StoredIdentityQuestion = {
  workspaceId: string
  number: number
  groups: readonly string[]
  emails: readonly string[]
  ownIds: readonly string[]
  /** Hashes of keys about which to tell the purges that ended them. */
  bases: readonly string[]
  /** Purges that were queued, by submission id, of which to tell those that are decided by now. */
  purges: readonly string[]
  /**
   * Whether all claims are told, on the emails and by the contacts, as whoever looks for what a purge takes away has to know. Otherwise, of
   * those before `number` that decide, the first and the last of each email.
   */
  isWhole: boolean
}

/**
 * What is stored about external ids (groups) and emails. `base` is the hash of a key, which stays while purges change its own id.
 * `saidFrom` is null for a key that exists by a bare identify alone.
 */
export type StoredIdentity = {
  keys: {
    base: string
    kind: string
    groupId: string
    source: string
    saidFrom: number | null
    homeBase: string | null
    email: [number, string | null] | null
  }[]
  emails: { base: string; givenFrom: number | null; orphanedFrom: number | null }[]
  claims: { email: string; number: number; base: string; groupId: string; bare: boolean; decides: boolean }[]
  /** By key, the number of the last purge that ended it. */
  ended: Record<string, number>
  /** Groups that a record remembers and that nobody has. */
  remembered: string[]
  /** For each own id: the group or email that it belongs to, or the contact or project that it means at `number`. */
  own: { id: string; group: string | null; email: string | null; contact: string | null; project: string | null }[]
  /** The numbers of the purges that are decided. Everything accepted before such a purge is stored. */
  decided: number[]
}

/**
 * One query. Every row is found by its own key, whatever the planner knows: a connection that had planned this while nothing was stored
 * went through all keys of the workspace.
 */
export const readStoredIdentity = async (sql: Sql, asked: StoredIdentityQuestion): Promise<StoredIdentity> => {
  const { workspaceId: ws, groups, purges } = asked
  const [row] = await sql<[StoredIdentity]>`
    with ${neighbours(sql, asked)}
    select
      ${keysMembers(sql, ws)},
      ${endedMember(sql, asked)},
      array(select g from unnest(${groups}::uuid[]) as g where is_remembered(${ws}, g)) as remembered,
      ${ownMember(sql, asked)},
      coalesce((
        select jsonb_agg(number) from (
          select number from purge where workspace_id = ${ws} and id = any (${purges}::uuid[])
          union
          select acceptance_number from submission where workspace_id = ${ws} and id = any (${purges}::uuid[])
        ) as d
      ), '[]') as decided`
  return row
}

/** `held`: keys of the groups; `email`: the emails by their own ids; `claim`: claims; `own`: what own ids are of. */
const neighbours = (sql: Sql, asked: StoredIdentityQuestion) => {
  const { workspaceId: ws, groups, emails, ownIds } = asked
  return sql`
  held as (
    select k.*, key_of(${ws}, k.id) as base from identity_key as k
    where k.workspace_id is not distinct from ${ws} and k.group_id = any (${groups}::uuid[])
  ),
  email as (
    select e.base, id_at(${ws}, e.base, ${LATEST}::bigint) as id from unnest(${emails}::uuid[]) as e (base)
  ),
  claim as (${asked.isWhole ? allClaims(sql, asked) : decidingClaims(sql, asked)}),
  own as (
    select o.id, k.kind, coalesce(k.group_id, f.group_id) as group_id, coalesce(f.key_id, o.id) as base, f.id as former
    from unnest(${ownIds}::uuid[]) as o (id)
    left join lateral (
      select kind, group_id from identity_key where workspace_id = ${ws} and id = o.id offset 0
    ) as k on true
    left join lateral (
      select id, key_id, group_id from fence where workspace_id is not distinct from ${ws} and next_id = o.id offset 0
    ) as f on true
  )`
}

const allClaims = (sql: Sql, { workspaceId: ws }: StoredIdentityQuestion) => sql`
  select * from identity_claim where workspace_id = ${ws} and not link and key_id = any (array(select id from email))
  union
  select c.* from held as h, lateral (
    select * from identity_claim where workspace_id is not distinct from ${ws} and target_id = h.id and not link offset 0
  ) as c`

const decidingClaims = (sql: Sql, { workspaceId: ws, number }: StoredIdentityQuestion) => sql`
  select c.* from email as e, lateral (
    (select * from identity_claim
      where workspace_id = ${ws} and key_id = e.id and number < ${number}::bigint and not link and decides
      order by number limit 1)
    union
    (select * from identity_claim
      where workspace_id = ${ws} and key_id = e.id and number < ${number}::bigint and not link and decides
      order by number desc limit 1)
  ) as c`

const keysMembers = (sql: Sql, ws: string) => sql`
  coalesce((
    select jsonb_agg(jsonb_build_object('base', base, 'kind', kind, 'groupId', group_id, 'source', source,
      'saidFrom', said_from, 'homeBase', key_of(${ws}, home_id), 'email', facts -> 'k:email'))
    from held
  ), '[]') as keys,
  coalesce((
    select jsonb_agg(jsonb_build_object('base', e.base, 'givenFrom', k.said_from,
      'orphanedFrom', case when k.orphaned then k.exists_from end))
    from email as e, lateral (
      select said_from, orphaned, exists_from from identity_key where workspace_id = ${ws} and id = e.id offset 0
    ) as k
  ), '[]') as emails,
  coalesce((
    select jsonb_agg(jsonb_build_object('email', key_of(${ws}, c.key_id), 'number', c.number, 'base', key_of(${ws}, k.id),
      'groupId', k.group_id, 'bare', k.kind = 'contact_bare', 'decides', c.decides) order by c.number, c.decides)
    from claim as c, lateral (
      select id, kind, group_id from identity_key where workspace_id = ${ws} and id = c.target_id offset 0
    ) as k
    where k.kind in ('contact_external', 'contact_bare')
  ), '[]') as claims`

const endedMember = (sql: Sql, { workspaceId: ws, bases, emails }: StoredIdentityQuestion) => sql`
  coalesce((
    select jsonb_object_agg(key_id, number) from (
      select key_id, max(number) as number from fence
      where workspace_id = ${ws} and key_id = any (${[...bases, ...emails]}::uuid[] || array(select base from held))
      group by key_id
    ) as f
  ), '{}') as ended`

const ownMember = (sql: Sql, { workspaceId: ws, number }: StoredIdentityQuestion) => sql`
  coalesce((
    select jsonb_agg(jsonb_build_object('id', id,
      'group', case when kind = 'contact_external' or kind is null then group_id end,
      'email', case when kind = 'contact_email' or (kind is null and former is not null and group_id is null) then base end,
      'contact', resolve_own(${ws}, 'contact', id, ${number}::bigint),
      'project', resolve_own(${ws}, 'project', id, ${number}::bigint)))
    from own
  ), '[]') as own`

const LATEST = Number.MAX_SAFE_INTEGER
