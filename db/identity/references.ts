import type { Sql } from '../connection/postgres.ts'
import { ofEachWorkspace } from '../of-each-workspace.ts'

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

type ReferenceKind = 'own' | 'external' | 'email' | 'epoch' | 'project'
type ReferenceRow = { kind: ReferenceKind; place: number; id: string; number: number; isFinal: boolean; epoch: number }

/** Looks up the references of many feedback, in their order: one query for each workspace. */
export const findReferences = (sql: Sql, asked: readonly ReferenceKeys[]): Promise<StoredReferences[]> =>
  ofEachWorkspace(asked, (workspaceId, own) => findInWorkspace(sql, workspaceId, own))

const findInWorkspace = async (
  sql: Sql,
  workspaceId: string,
  asked: readonly ReferenceKeys[],
): Promise<StoredReferences[]> => {
  const own = keysOf(asked, ({ contact: { ids, areExternal } }) => (areExternal ? [] : ids))
  const external = keysOf(asked, ({ contact: { ids, areExternal } }) => (areExternal ? ids : []))
  const email = keysOf(asked, ({ contact }) => (contact.email === undefined ? [] : [contact.email]))
  const emailKeys = keysOf(asked, ({ contact }) => (contact.emailKey === undefined ? [] : [contact.emailKey]))
  const project = keysOf(asked, ({ projectIds }) => projectIds)
  const rows = await sql<ReferenceRow[]>`
    select kind, place, id, number::float8 as number, is_final as "isFinal", epoch
    from find_references(
      ${workspaceId}::uuid, ${own.keys}::uuid[], ${external.keys}::uuid[], ${external.owners.map(sourceOf)}::text[],
      ${email.keys}::text[], ${emailKeys.keys}::uuid[], ${project.keys}::uuid[]
    )`
  const found = new Map(rows.map((row) => [`${row.kind} ${row.place}`, row]))
  const takeRow = (kind: ReferenceKind, keys: OwnedKeys): ReferenceRow | undefined =>
    found.get(`${kind} ${++keys.taken}`)
  return asked.map(({ contact: { ids, areExternal, email: address, emailKey }, projectIds }) => ({
    contacts: ids.map(() => (areExternal ? takeRow('external', external) : takeRow('own', own))),
    email: address === undefined ? undefined : takeRow('email', email),
    epoch: (emailKey === undefined ? undefined : takeRow('epoch', emailKeys)) ?? NEVER_PURGED,
    projects: projectIds.map(() => takeRow('project', project)),
  }))
}

const NEVER_PURGED = { epoch: 0, number: 0 }

/** `taken`: the number of keys, in their order, whose rows are taken. */
type OwnedKeys = { keys: string[]; owners: ReferenceKeys[]; taken: number }

const keysOf = (asked: readonly ReferenceKeys[], select: (owner: ReferenceKeys) => readonly string[]): OwnedKeys => {
  const all = asked.flatMap((owner) => select(owner).map((key) => ({ key, owner })))
  return {
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
export const readFeedbackReferences = (
  sql: Sql,
  named: readonly NamedFeedback[],
): Promise<(FeedbackReferences | undefined)[]> =>
  ofEachWorkspace(named, async (workspaceId, own) => {
    const rows = await sql<(FeedbackReferences & { id: string })[]>`
      select id, contact_id as "contactId", project_id as "projectId" from feedback
      where workspace_id = ${workspaceId} and id = any (${own.map(({ id }) => id)}::uuid[])`
    const found = new Map(rows.map((row) => [row.id, row]))
    return own.map(({ id }) => found.get(id))
  })

export const hasFeedback = async (sql: Sql, workspaceId: string, id: string): Promise<boolean> =>
  (await readFeedbackReferences(sql, [{ workspaceId, id }]))[0] !== undefined

/** The epochs of keys, in their order. `number`: of the last removal; 0 for none. */
export const findEpochs = (
  sql: Sql,
  asked: readonly { workspaceId: string; key: string }[],
): Promise<{ epoch: number; number: number }[]> =>
  ofEachWorkspace(asked, async (workspaceId, own) => {
    const rows = await sql<{ key: string; epoch: number; number: number }[]>`
      select key_id as key, epoch, number::float8 as number from purged_key
      where workspace_id = ${workspaceId} and key_id = any (${own.map(({ key }) => key)}::uuid[])`
    const found = new Map(rows.map((row) => [row.key, row]))
    return own.map(({ key }) => found.get(key) ?? NEVER_PURGED)
  })
