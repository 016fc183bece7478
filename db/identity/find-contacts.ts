import { choosePurged } from '../../contract/identity/choose-purged.ts'
import type { Realm } from '../../contract/identity/own-id.ts'
import type { PurgeRequest } from '../../contract/purge-request.ts'
import type { Sql } from '../connection/postgres.ts'
import { loadPurge } from '../purges/decide-purge.ts'

/**
 * The contacts that a purge with the same identifiers would match. `waitingKey`: the key of the
 * requested external id, if records wait for it. `keys`: the keys by which submissions name the
 * contacts.
 */
export type FoundContacts = { contactIds: string[]; waitingKey: string | null; keys: string[] }

/** The stored contacts that a purge would match now. */
export const findContacts = async (sql: Sql, realm: Realm, wanted: PurgeRequest): Promise<FoundContacts> => {
  const loaded = await loadPurge(sql, realm, wanted)
  const { contactIds, keys } = choosePurged(realm, wanted, loaded?.candidates ?? [])
  const [also] = await sql<[{ aliases: string[]; isWaitedFor: boolean }]>`
    select
      array(
        select a.id from unnest(${contactIds}::uuid[]) as c (id) cross join lateral (
          select k.id from contact_alias as k where k.workspace_id = ${realm.workspaceId} and k.contact_id = c.id offset 0
        ) as a
      ) as aliases,
      exists (
        select from unresolved
        where workspace_id = ${realm.workspaceId} and key_id = ${loaded?.waitingKey ?? null}::uuid and slot in ('c', 'm')
      ) as "isWaitedFor"`
  return {
    contactIds,
    waitingKey: also.isWaitedFor ? loaded!.waitingKey : null,
    keys: [...keys, ...contactIds, ...also.aliases],
  }
}

/** Whether a purge would match stored data: a contact, a record that waits for it, or a dead submission. */
export const canPurgeMatch = async (sql: Sql, realm: Realm, wanted: PurgeRequest): Promise<boolean> => {
  const { contactIds, waitingKey, keys } = await findContacts(sql, realm, wanted)
  if (contactIds.length > 0 || waitingKey !== null) return true
  const [dead] = await sql<[{ exists: boolean }]>`
    select exists (
      select from dead_submission where workspace_id = ${realm.workspaceId} and keys && ${keys}::uuid[]
    ) as exists`
  return dead.exists
}
