import type { JobOf, SubmissionJob } from '../contract/job.ts'
import { comparableEmail, ownId, type Realm } from '../contract/identity/own-id.ts'
import { sayingsOf, type Saying } from '../contract/identity/sayings.ts'
import type { PurgeRequest } from '../contract/purge-request.ts'
import { contactGroup, contactKey, feedbackReferences } from '../contract/identity/reference.ts'
import { feedbackId } from '../contract/stored-feedback.ts'
import type { FoundContacts } from '../db/find-contacts.ts'
import type { Sql } from '../db/postgres.ts'

/**
 * By what a contact can be named: `ids` are own ids, external ids in one source and emails; `groups` are external ids whose
 * source the one who names them leaves open. All are hashed.
 */
export type Concerned = { ids: ReadonlySet<string>; groups: ReadonlySet<string> }

/** Everything that the contacts that were found can be named by, and what was asked for, which may be in a queue alone. */
export const namesOf = async (
  sql: Sql,
  realm: Realm,
  { wanted, found }: { wanted: PurgeRequest; found: FoundContacts },
): Promise<Concerned> => {
  const { workspaceId } = realm
  // The id of a bare key is its group, which contacts of other sources have as well.
  const keys = await sql<{ id: string | null; group: string | null }[]>`
    with held as (
      select id, kind, group_id, subject_id from identity_key
      where workspace_id is not distinct from ${workspaceId} and subject_id = any (${found.contactIds}::uuid[])
    )
    select case when kind <> 'contact_bare' then key_of(${workspaceId}, id) end as id, group_id as "group" from held
    union
    select key_of(${workspaceId}, c.key_id), null from held as k, lateral (
      select key_id from identity_claim
      where workspace_id is not distinct from ${workspaceId} and target_id = k.id offset 0
    ) as c
    where resolve_weak(${workspaceId}, c.key_id, 9223372036854775807) = k.subject_id`
  const asked = namedByPurge(realm, wanted)
  return {
    ids: new Set([...found.contactIds, ...keys.flatMap(({ id }) => id ?? []), ...asked.ids, ...asked.groups]),
    groups: new Set([...keys.flatMap(({ group }) => group ?? []), ...asked.groups]),
  }
}

/** Whether a submission names the contact by anything. Whom it would be linked to in the end is not looked at. */
export const concerns = (realm: Realm, job: SubmissionJob, { ids, groups }: Concerned): boolean => {
  const named = namedBy(realm, job)
  return named.ids.some((id) => ids.has(id)) || named.groups.some((group) => groups.has(group))
}

type Named = { ids: string[]; groups: string[] }

const namedBy = (realm: Realm, job: SubmissionJob): Named => {
  switch (job.operation) {
    case 'create_feedback':
      return namedByFeedback(realm, job)
    case 'identify_contact':
      return identifiedBy(realm, job)
    case 'submit_conversation': {
      const { ids, groups } = identifiedBy(realm, job)
      const own = new Set(job.body.contacts.map(({ id }) => id))
      const others = job.body.messages.flatMap(({ contactId }) => contactId ?? []).filter((id) => !own.has(id))
      return { ids, groups: [...groups, ...others.map((id) => contactGroup(realm, id))] }
    }
    case 'purge_contact':
      return namedByPurge(realm, job.body)
    case 'identify_account':
      return { ids: [], groups: [] }
  }
}

const namedByFeedback = (realm: Realm, { submissionId, body }: JobOf<'create_feedback'>): Named => {
  const recordId = feedbackId({ ...realm, submissionId }, body)
  const { contact } = feedbackReferences({ ...realm, number: 0, recordId }, body)
  const named = contact?.ids ?? []
  const weak = contact?.weak === undefined ? [] : [contact.weak]
  return contact?.own === true ? { ids: [...named, ...weak], groups: [] } : { ids: weak, groups: named }
}

/** Of an external id that is identified in one source, its group is named by its id alone: it is asked for in all sources. */
const identifiedBy = (realm: Realm, job: SubmissionJob): Named => {
  const { newIds, aboutKeys } = sayingsOf(realm, job)
  const keysSaid = (kind: Saying['kind']): string[] =>
    aboutKeys.filter(({ sayings }) => sayings.some((saying) => saying.kind === kind)).map(({ keyId }) => keyId)
  return {
    ids: [...newIds.map(({ id }) => id), ...keysSaid('named'), ...keysSaid('claim')],
    groups: keysSaid('bare'),
  }
}

const namedByPurge = (realm: Realm, { id, email, source }: PurgeRequest): Named => {
  const address = comparableEmail(email ?? '')
  return {
    ids: [
      ...(address === undefined ? [] : [ownId(realm, 'contact_email', address)]),
      ...(id == null || source == null ? [] : [contactKey(realm, source, id)]),
    ],
    groups: id == null || source != null ? [] : [contactGroup(realm, id)],
  }
}
