import type { Realm } from '../../contract/identity/own-id.ts'
import type { PurgeRequest } from '../../contract/purge-request.ts'
import type { Sql } from '../postgres.ts'
import { purgeKeys } from '../../contract/identity/purge-keys.ts'

/** `contactIds` are own ids. `externalGroup` is the external id that was asked for, if a record remembers it and nobody has it. */
export type FoundContacts = { contactIds: string[]; externalGroup: string | null }

/** The stored contacts that a purge would concern now. */
export const findContacts = async (sql: Sql, realm: Realm, wanted: PurgeRequest): Promise<FoundContacts> => {
  const { workspaceId } = realm
  const { group, email } = purgeKeys(realm, wanted)
  const [found] = await sql<[FoundContacts]>`
    select
      array(
        select matching_contacts(
          ${workspaceId}, ${group}::uuid, id_at(${workspaceId}, ${email}::uuid, 9223372036854775807), ${wanted.source ?? null})
      ) as "contactIds",
      case when is_remembered(${workspaceId}, ${group}::uuid) then ${group}::uuid end as "externalGroup"`
  return found
}

/** Whether a dead submission names anybody by one of these keys. */
export const isAnyDead = async (sql: Sql, workspaceId: string, keys: readonly string[]): Promise<boolean> => {
  const found = await sql`
    select from dead_submission
    where workspace_id is not distinct from ${workspaceId} and keys && ${keys}::uuid[]
    limit 1`
  return found.length > 0
}

/** The hashes of the keys that contacts have and of the emails that mean them, and the groups of their external ids. */
export const keysOfContacts = async (
  sql: Sql,
  workspaceId: string,
  contactIds: readonly string[],
): Promise<{ keys: string[]; groups: string[] }> => {
  // A bare key is left out: its id is its group, which contacts of other sources have as well.
  const found = await sql<{ key: string | null; group: string | null }[]>`
    with held as (
      select id, kind, group_id, subject_id from identity_key
      where workspace_id is not distinct from ${workspaceId} and subject_id = any (${contactIds}::uuid[])
    )
    select case when kind <> 'contact_bare' then key_of(${workspaceId}, id) end as key, group_id as "group" from held
    union
    select key_of(${workspaceId}, c.key_id), null from held as k, lateral (
      select key_id from identity_claim
      where workspace_id is not distinct from ${workspaceId} and target_id = k.id offset 0
    ) as c
    where resolve_weak(${workspaceId}, c.key_id, 9223372036854775807) = k.subject_id`
  return { keys: found.flatMap(({ key }) => key ?? []), groups: found.flatMap(({ group }) => group ?? []) }
}
