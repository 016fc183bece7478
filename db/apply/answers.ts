import type { SubmissionState } from '../../contract/receipt.ts'
import type { Sql } from '../connection/postgres.ts'
import { bySourceAge, KEY, load, type LoadedRow, type RowOf, type WantedKeys } from './load.ts'

/** The keys of a feedback for its contact and its project. */
export type ReferenceKeys = {
  workspaceId: string
  contact: {
    /** Own ids, or keys of external ids, in their order of precedence. */
    ids: readonly string[]
    areExternal: boolean
    /** The source in which an external id is looked up first. */
    source: string
    /** In canonical form. */
    email?: string | undefined
    /**
     * The key of a contact that is found or created: of its email, or of the feedback that it
     * belongs to.
     */
    weakKey?: string | undefined
  }
  projectIds: readonly string[]
}

/**
 * The stored meaning of a key. `number`: the submission that gave it. `isFinal`: the id will
 * resolve to the contact that the key means, also after the unapplied identifies. They can claim an
 * email again, or add an external id in the feedback's own source.
 */
export type StoredReference = { id: string; number: number; isFinal: boolean }

/** The stored meanings of the keys of a feedback, in their order; undefined for an unknown key. */
export type StoredReferences = {
  contacts: (StoredReference | undefined)[]
  email: StoredReference | undefined
  /** The epoch of the weak key. `number`: its last purge, 0 for none. */
  epoch: { epoch: number; number: number }
  projects: (StoredReference | undefined)[]
}

/** Looks up the references of many feedback in one query, in their order. */
export const findReferences = async (sql: Sql, asked: readonly ReferenceKeys[]): Promise<StoredReferences[]> => {
  const loaded = await load(sql, asked.map(wantedKeys))
  return asked.map((keys, at) => storedReferences(keys, loaded[at]!.rows))
}

const wantedKeys = ({ workspaceId, contact, projectIds }: ReferenceKeys): WantedKeys => ({
  workspaceId,
  [contact.areExternal ? 'contactKey' : 'contact']: keysOf(contact.ids),
  email: keysOf([contact.email]),
  epoch: keysOf([contact.weakKey]),
  project: keysOf(projectIds),
})

const keysOf = (keys: readonly (string | undefined)[]): Map<string, number> =>
  new Map(keys.filter((key) => key !== undefined).map((key) => [key, KEY]))

const storedReferences = ({ contact, projectIds }: ReferenceKeys, rows: readonly LoadedRow[]): StoredReferences => {
  const find = <K extends LoadedRow['kind']>(kind: K, key: string | undefined): RowOf<K> | undefined =>
    rows.find((row): row is RowOf<K> & LoadedRow => row.kind === kind && row.key === key)
  const byOwnId = (key: string): StoredReference | undefined => {
    const found = find('contact', key)
    return found && { id: found.profile.id, number: found.profile.first, isFinal: true }
  }
  const byExternalId = (key: string): StoredReference | undefined => {
    const sources = rows.filter((row) => row.kind === 'contact_key' && row.key === key) as RowOf<'contact_key'>[]
    const own = sources.find(({ source }) => source === contact.source)
    const found = own ?? sources.toSorted(bySourceAge)[0]
    return found && { id: found.id, number: found.number, isFinal: own !== undefined }
  }
  const email = find('email', contact.email)
  return {
    contacts: contact.ids.map(contact.areExternal ? byExternalId : byOwnId),
    email: email && { id: email.profile.id, number: email.number, isFinal: !email.claimed },
    epoch: find('epoch', contact.weakKey) ?? NEVER_PURGED,
    projects: projectIds.map((id) => {
      const project = find('project', id)
      return project && { id, number: project.first, isFinal: true }
    }),
  }
}

const NEVER_PURGED = { epoch: 0, number: 0 }

export type FeedbackPlace = { workspaceId: string; id: string }
export type FeedbackReferences = { contactId: string | null; projectId: string | null }

/**
 * The contact and project of stored feedback, in the order of `places`; undefined for unknown
 * feedback.
 */
export const readFeedbackReferences = async (
  sql: Sql,
  places: readonly FeedbackPlace[],
): Promise<(FeedbackReferences | undefined)[]> => {
  const rows = await sql<(FeedbackReferences & { place: number })[]>`
    select k.place::int as place, f.contact_id as "contactId", f.project_id as "projectId"
    from unnest(
      ${places.map(({ workspaceId }) => workspaceId)}::uuid[], ${places.map(({ id }) => id)}::uuid[]
    ) with ordinality as k (workspace_id, id, place)
    cross join lateral (
      select f.contact_id, f.project_id from feedback as f
      where f.workspace_id = k.workspace_id and f.id = k.id limit 1
    ) as f`
  const found = new Map(rows.map((row) => [row.place, row]))
  return places.map((_, at) => found.get(at + 1))
}

/** The progress of a submission. `isUnmatched`: a decided purge that found nothing to remove. */
export type Progress = { id: string; state: SubmissionState; isUnmatched: boolean }

/** The progress of the given submissions that have a receipt. */
export const findProgress = (
  sql: Sql,
  submissions: readonly { workspaceId: string; id: string }[],
): Promise<Progress[]> =>
  sql<Progress[]>`
    select s.id, s.state, s.is_unmatched as "isUnmatched"
    from unnest(
      ${submissions.map(({ workspaceId }) => workspaceId)}::uuid[], ${submissions.map(({ id }) => id)}::uuid[]
    ) as k (workspace_id, id)
    cross join lateral (
      select s.id, s.state,
        s.operation = 'purge_contact' and s.state = 'applied' and not exists (
          select from jsonb_each_text(s.counts) as c (name, value) where c.value <> '0'
        ) as is_unmatched
      from submission as s where s.workspace_id = k.workspace_id and s.id = k.id limit 1
    ) as s`.execute()
