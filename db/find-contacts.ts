import type { LookUpQueued, QueuedFactsByKey } from './admission.ts'
import { comparableEmail, type HashKey, ownId } from './contract/own-id.ts'
import type { PurgeRequest } from './contract/purge-request.ts'
import { contactGroup } from './contract/reference.ts'
import { DEFAULT_SOURCE } from './contract/stored-feedback.ts'
import type { Sql } from './postgres.ts'
import { withinTime } from './within-time.ts'

/** `contactIds`: the contacts; `matches`: whether there is anything to purge, which a remembered external id is as well. */
export type FoundContacts = { contactIds: string[]; externalGroup: string | null; matches: boolean }
export type FindContacts = (workspaceId: string, wanted: PurgeRequest) => Promise<FoundContacts>

/**
 * Finds whom a purge concerns: by external id, in `source` or in all; by email, every contact whose email it is and the one
 * that it resolves to; with both, the union.
 *
 * @throws when Postgres does not answer in time.
 */
export const contactFinder =
  (sql: Sql, hashKey: HashKey, timeoutMs: number): FindContacts =>
  async (workspaceId, { id, email, source }) => {
    const group = id == null ? null : contactGroup({ hashKey, workspaceId }, id)
    const comparable = comparableEmail(email ?? '')
    const emailKey = comparable === undefined ? null : ownId({ hashKey, workspaceId }, 'contact_email', comparable)
    const candidates = await withinTime(
      sql<{ id: string; email: string | null; by: 'id' | 'email' | 'claim'; sources: string[]; remembered: boolean }[]>`
        with found as (
          select subject_id as id, 'id' as by from identity_key
          where workspace_id = ${workspaceId} and group_id = ${group}::uuid and kind = 'contact_external'
            and exists_from is not null and (${source ?? null}::text is null or source = ${source ?? null})
          union
          select resolve_weak(${workspaceId}, ${emailKey}::uuid, 9223372036854775807), 'email'
          where ${emailKey}::uuid is not null
          union
          select k.subject_id, 'claim' from identity_claim as c
          join identity_key as k on k.workspace_id = c.workspace_id and k.id = c.target_id
          where c.workspace_id = ${workspaceId} and c.key_id = ${emailKey}::uuid
        )
        select f.id, c.email, f.by,
          array(select e.source from contact_external_id as e where e.workspace_id = ${workspaceId} and e.contact_id = f.id)
            as sources,
          false as remembered
        from found as f join contact as c on c.workspace_id = ${workspaceId} and c.id = f.id
        union all
        select null, null, 'id', '{}', true
        where exists (
          select from unresolved_reference where workspace_id = ${workspaceId} and ref_id = ${group}::uuid
        )`,
      timeoutMs,
    )
    const inSource = (sources: readonly string[]): boolean =>
      source == null || sources.includes(source) || (sources.length === 0 && source === DEFAULT_SOURCE)
    const contactIds = candidates
      .filter((found) => !found.remembered)
      .filter((found) => found.by !== 'claim' || comparableEmail(found.email ?? '') === comparable)
      .filter((found) => found.by === 'id' || inSource(found.sources))
      .map((found) => found.id)
    const remembered = candidates.some((found) => found.remembered)
    return {
      contactIds: [...new Set(contactIds)],
      externalGroup: remembered ? group : null,
      matches: contactIds.length > 0 || remembered,
    }
  }

export type IsQueued = (workspaceId: string, wanted: PurgeRequest) => Promise<boolean>

/** Whether a submission that is still queued says anything of a contact that a purge would concern. */
export const queuedContactFinder =
  (lookUpQueued: LookUpQueued, hashKey: HashKey): IsQueued =>
  async (workspaceId, { id, email, source }) => {
    const group = id == null ? undefined : contactGroup({ hashKey, workspaceId }, id)
    const comparable = comparableEmail(email ?? '')
    const emailKey = comparable === undefined ? undefined : ownId({ hashKey, workspaceId }, 'contact_email', comparable)
    const queued = await lookUpQueued(
      workspaceId,
      [group, emailKey].filter((key) => key !== undefined),
    )
    return (
      identifiesIn(queued, group, source) ||
      (emailKey !== undefined &&
        (queued.get(emailKey)?.existsFrom != null || (queued.get(emailKey)?.said.length ?? 0) > 0))
    )
  }

const identifiesIn = (
  queued: QueuedFactsByKey,
  group: string | undefined,
  source: string | null | undefined,
): boolean =>
  group !== undefined &&
  (queued.get(group)?.said ?? []).some(
    ({ saying }) => saying.kind !== 'claim' && (source == null || saying.source === source),
  )
