import type { Sql } from '../connection/postgres.ts'

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
    /** The key of the email. */
    emailKey?: string | undefined
  }
  projectIds: readonly string[]
}

/**
 * The stored meaning of a key. `number`: of the submission that gave the key this meaning.
 * `isFinal`: after all queued identifies, `id` will resolve to the contact or project that the key
 * then means.
 */
export type StoredReference = { id: string; number: number; isFinal: boolean }

/** The stored meanings of the keys of a feedback, in their order; undefined for an unknown key. */
export type StoredReferences = {
  contacts: (StoredReference | undefined)[]
  email: StoredReference | undefined
  /** The epoch of the key of the email. `number`: its last purge, 0 for none. */
  epoch: { epoch: number; number: number }
  projects: (StoredReference | undefined)[]
}

type Kind = 'own' | 'external' | 'email' | 'epoch' | 'project'
type Row = { kind: Kind; place: number; id: string; number: number; isFinal: boolean; epoch: number }

/** Looks up the references of many feedback in one query, in their order. */
export const findReferences = async (sql: Sql, asked: readonly ReferenceKeys[]): Promise<StoredReferences[]> => {
  const own = keysOf(asked, ({ contact: { ids, areExternal } }) => (areExternal ? [] : ids))
  const external = keysOf(asked, ({ contact: { ids, areExternal } }) => (areExternal ? ids : []))
  const email = keysOf(asked, ({ contact }) => (contact.email === undefined ? [] : [contact.email]))
  const emailKeys = keysOf(asked, ({ contact }) => (contact.emailKey === undefined ? [] : [contact.emailKey]))
  const project = keysOf(asked, ({ projectIds }) => projectIds)
  const rows = await sql<Row[]>`
    select kind, place, id, number::float8 as number, is_final as "isFinal", epoch
    from find_references(
      ${own.workspaces}::uuid[], ${own.keys}::uuid[],
      ${external.workspaces}::uuid[], ${external.keys}::uuid[], ${external.owners.map(sourceOf)}::text[],
      ${email.workspaces}::uuid[], ${email.keys}::text[],
      ${emailKeys.workspaces}::uuid[], ${emailKeys.keys}::uuid[],
      ${project.workspaces}::uuid[], ${project.keys}::uuid[]
    )`
  const found = new Map(rows.map((row) => [`${row.kind} ${row.place}`, row]))
  const takeRow = (kind: Kind, keys: Keys): Row | undefined => found.get(`${kind} ${++keys.taken}`)
  return asked.map(({ contact: { ids, areExternal, email: address, emailKey }, projectIds }) => ({
    contacts: ids.map(() => (areExternal ? takeRow('external', external) : takeRow('own', own))),
    email: address === undefined ? undefined : takeRow('email', email),
    epoch: (emailKey === undefined ? undefined : takeRow('epoch', emailKeys)) ?? NEVER_PURGED,
    projects: projectIds.map(() => takeRow('project', project)),
  }))
}

const NEVER_PURGED = { epoch: 0, number: 0 }

/** `taken`: the number of keys, in their order, whose rows are taken. */
type Keys = { workspaces: string[]; keys: string[]; owners: ReferenceKeys[]; taken: number }

const keysOf = (asked: readonly ReferenceKeys[], select: (owner: ReferenceKeys) => readonly string[]): Keys => {
  const all = asked.flatMap((owner) => select(owner).map((key) => ({ key, owner })))
  return {
    workspaces: all.map(({ owner }) => owner.workspaceId),
    keys: all.map(({ key }) => key),
    owners: all.map(({ owner }) => owner),
    taken: 0,
  }
}

const sourceOf = ({ contact }: ReferenceKeys): string => contact.source

export type NamedFeedback = { workspaceId: string; id: string }
type FeedbackReferences = { contactId: string | null; projectId: string | null }

/**
 * The contact and project of stored feedback, in the order of `named`; undefined for unknown
 * feedback.
 */
export const readFeedbackReferences = async (
  sql: Sql,
  named: readonly NamedFeedback[],
): Promise<(FeedbackReferences | undefined)[]> => {
  const rows = await sql<(FeedbackReferences & { place: number })[]>`
    select k.place::int as place, f.contact_id as "contactId", f.project_id as "projectId"
    from unnest(
      ${named.map(({ workspaceId }) => workspaceId)}::uuid[], ${named.map(({ id }) => id)}::uuid[]
    ) with ordinality as k (workspace_id, id, place)
    cross join lateral (
      select f.contact_id, f.project_id from feedback as f
      where f.workspace_id = k.workspace_id and f.id = k.id limit 1
    ) as f`
  const found = new Map(rows.map((row) => [row.place, row]))
  return named.map((_, at) => found.get(at + 1))
}
