import type { LookUpQueued, QueuedFacts, QueuedFactsByKey } from './admission.ts'
import type { Reference } from './contract/reference.ts'
import type { Meaning, Question } from './meaning.ts'
import type { Sql } from './postgres.ts'

/** Rows of `identity_key` of one external id; `saidFrom` null where only a bare identify made the key exist. */
type StoredKey = {
  id: string
  kind: string
  groupId: string
  source: string
  saidFrom: number | null
  homeId: string | null
}
type StoredClaim = { number: number; targetId: string; bare: boolean; groupId: string; subjectId: string }
type Stored = { keys: StoredKey[]; claim: StoredClaim | null; own: Record<string, string | null> }

/**
 * Whom references mean when part of what decides is still queued. The rules are those of db/migrations/0003_identity.sql; all
 * queued facts are older than the question, since they were read when its number was given.
 */
export const meaningWithQueued = async (sql: Sql, lookUpQueued: LookUpQueued, question: Question): Promise<Meaning> => {
  const { workspaceId, references } = question
  const claims = claimsOn(question.queued, references.contact?.weak)
  // Whom a claim by a bare external id is for is decided by all keys of that id.
  const claimGroups = claims.flatMap(({ saying }) => (saying.kind === 'claim' && saying.bare ? [saying.group] : []))
  const queued = new Map([...question.queued, ...(await lookUpQueued(workspaceId, claimGroups))])
  const stored = await readStored(sql, question, claimGroups)
  return {
    contact: meaningOf({ ...question, queued }, references.contact, stored),
    project: meaningOf({ ...question, queued }, references.project, stored),
  }
}

const claimsOn = (queued: QueuedFactsByKey, key: string | undefined): QueuedFacts['said'] =>
  (key === undefined ? [] : (queued.get(key)?.said ?? [])).filter(({ saying }) => saying.kind === 'claim')

const readStored = async (sql: Sql, question: Question, claimGroups: readonly string[]): Promise<Stored> => {
  const { workspaceId: workspace, number, references } = question
  const { contact, project } = references
  const ownIds = [
    ...(contact?.own === true ? (contact.ids ?? []).map((id) => ({ id, slot: 'contact' })) : []),
    ...(project?.ids ?? []).map((id) => ({ id, slot: 'project' })),
  ]
  const groups = [...(contact?.own === false ? (contact.ids ?? []) : []), ...claimGroups]
  const [row] = await sql<[Stored]>`
    select
      coalesce((
        select jsonb_agg(jsonb_build_object('id', id, 'kind', kind, 'groupId', group_id, 'source', source,
          'saidFrom', said_from, 'homeId', home_id))
        from identity_key where workspace_id = ${workspace} and group_id = any (${groups}::uuid[])
      ), '[]') as keys,
      (
        select jsonb_build_object('number', c.number, 'targetId', c.target_id, 'bare', k.kind = 'contact_bare',
          'groupId', k.group_id, 'subjectId', k.subject_id)
        from claim_at(${workspace}, ${contact?.weak ?? null}, ${number}::bigint) as c
        join identity_key as k on k.workspace_id = ${workspace} and k.id = c.target_id
      ) as claim,
      coalesce((
        select jsonb_object_agg(o.id, resolve_own(${workspace}, o.slot, o.id, ${number}::bigint))
        from jsonb_to_recordset(${sql.json(ownIds)}) as o (id uuid, slot text)
      ), '{}') as own`
  return row
}

const meaningOf = (question: Question, reference: Reference | null, stored: Stored): string | null => {
  if (reference === null) return null
  for (const id of reference.ids ?? []) {
    const meant = reference.own === true ? ownAt(question, id, stored) : externalAt(question, id, stored)
    if (meant !== null) return meant
  }
  if (reference.weak === undefined) return null
  return emailAt(question, reference.weak, stored)
}

/** An email: the latest claim, stored or queued; else the contact that the email itself stands for. */
const emailAt = (question: Question, email: string, stored: Stored): string => {
  const { claim } = stored
  const latest = claimsOn(question.queued, email).at(-1)
  if (latest?.saying.kind === 'claim' && !(claim && claim.number > latest.number && claim.number <= question.number)) {
    return claimant(question, latest.saying, stored)
  }
  if (claim === null) return email
  return claim.bare ? (keysOf(question, claim.groupId, stored)[0]?.id ?? claim.subjectId) : claim.subjectId
}

const claimant = (question: Question, claim: { id: string; group: string; bare: boolean }, stored: Stored): string =>
  claim.bare ? (keysOf(question, claim.group, stored)[0]?.id ?? claim.id) : claim.id

/** An own id: what it resolves to in what is stored, or the first to claim it in what is queued, or itself if it exists. */
const ownAt = (question: Question, id: string, stored: Stored): string | null => {
  const storedMeaning = stored.own[id] ?? null
  if (storedMeaning !== null && storedMeaning !== id) return storedMeaning
  if (storedMeaning === null && question.queued.get(id)?.existsFrom == null) return null
  const first = claimsOn(question.queued, id)[0]
  return first?.saying.kind === 'claim' ? claimant(question, first.saying, stored) : id
}

/** An external id: its key in the asker's own source, else its oldest one, stored and queued together; null if there is none. */
const externalAt = (question: Question, group: string, stored: Stored): string | null => {
  const keys = keysOf(question, group, stored)
  return (keys.find(({ source }) => source === question.source) ?? keys[0])?.id ?? null
}

type DatedKey = { id: string; source: string; from: number }

/** The external keys of a group that are older than the question, oldest first. */
const keysOf = ({ queued, number }: Question, group: string, { keys }: Stored): DatedKey[] => {
  const named = new Map<string, DatedKey>()
  let bare: DatedKey | undefined
  const note = (kind: string, key: DatedKey): void => {
    if (key.from >= number) return
    if (kind === 'bare') {
      if (!bare || key.from < bare.from) bare = key
    } else if (key.from < (named.get(key.id)?.from ?? Infinity)) named.set(key.id, key)
  }
  for (const key of keys) {
    if (key.groupId !== group || key.saidFrom === null) continue
    if (key.kind === 'contact_bare') note('bare', { id: key.homeId!, source: key.source, from: key.saidFrom })
    else note('named', { id: key.id, source: key.source, from: key.saidFrom })
  }
  for (const { number: from, saying } of queued.get(group)?.said ?? []) {
    if (saying.kind !== 'claim') note(saying.kind, { id: saying.id, source: saying.source, from })
  }
  const oldestNamed = Math.min(...[...named.values()].map(({ from }) => from))
  if (bare && bare.from < oldestNamed) note('named', bare)
  return [...named.values()].toSorted(
    (a, b) => a.from - b.from || (a.source < b.source ? -1 : a.source > b.source ? 1 : 0),
  )
}
