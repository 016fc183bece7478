import { coalesce } from '../process/coalesce.ts'
import type { AnswerReferences, Reference } from '../contract/identity/reference.ts'
import { isPermanentFault } from '../process/fault.ts'
import type { Meaning, Question, ResolveReferences } from '../contract/identity/meaning.ts'
import type { Sql } from '../db/postgres.ts'
import { type Identity, meaningWithQueued } from './meaning-with-queued.ts'
import { withinTime } from '../process/within-time.ts'

/** The keys whose queued facts can change what a feedback's references mean. */
export const keysToLookUp = ({ contact, project }: AnswerReferences): string[] => [
  ...(contact?.ids ?? []),
  ...(contact?.weakKind === 'contact_email' ? [contact.weak!] : []),
  ...(project?.ids ?? []),
]

/**
 * Whom a feedback means: what is stored and what is queued, as of its number. What was queued is read before what is stored,
 * and taken off the queue's books after it is stored, so nothing is missed. When Postgres cannot be asked: the id that a
 * find-or-create contact or project will have or resolve to, and null for a reference that cannot be checked.
 * Look-ups of requests that ask at once share one query.
 */
export const referenceResolver = (identity: Identity, timeoutMs: number): ResolveReferences => {
  // Each call in time, too: of one that hangs with its connection those who come later should not hear.
  const askStored = coalesce(
    (questions: readonly Question[]) => withinTime(storedMeanings(identity.sql, questions), timeoutMs),
    TOGETHER,
  )
  const askEmail = coalesce(
    (questions: readonly Emailed[]) => withinTime(emailsAt(identity.sql, questions), timeoutMs),
    TOGETHER,
  )
  /** A bad question fails alone: those that were asked with it are asked again. */
  const storedMeaning = async (question: Question): Promise<StoredMeaning> => {
    try {
      return await askStored(question)
    } catch (error) {
      if (!isPermanentFault(error)) throw error
      const [meaning] = await storedMeanings(identity.sql, [question])
      return meaning!
    }
  }
  const meaningOf = async (question: Question): Promise<Meaning> => {
    if (hasQueuedFacts(question)) return meaningWithQueued(identity, question)
    if (isEmailAlone(question)) {
      const contact = await askEmail({ ...question, email: question.references.contact.weak })
      return { contact, project: question.references.project?.weak ?? null }
    }
    const { fresh, ...stored } = await storedMeaning(question)
    // What is queued about an own id with which a purge made a key start afresh is found by the key alone; and one that is
    // not stored may be such an id.
    const { contact } = question.references
    const mayBeFresh = contact?.own === true && (fresh || stored.contact === null || contact.weak !== undefined)
    return mayBeFresh ? meaningWithQueued(identity, question) : stored
  }
  return async (question) => {
    const { contact, project } = question.references
    if (!needsLookUp(contact) && !needsLookUp(project)) return certain(question.references)
    try {
      return await withinTime(meaningOf(question), timeoutMs)
    } catch {
      return certain(question.references)
    }
  }
}

const TOGETHER = { items: 500 }

/** Only an email can have been claimed by somebody else, and only an id can be unknown. */
const needsLookUp = (reference: Reference | null): boolean =>
  reference?.ids !== undefined || reference?.weakKind === 'contact_email'

type OfEmail = { contact: Reference & { weak: string }; project: Reference | null }

const isEmailAlone = (question: Question): question is Question & { references: OfEmail } => {
  const { contact, project } = question.references
  return contact?.weakKind === 'contact_email' && contact.ids === undefined && project?.ids === undefined
}

const certain = ({ contact, project }: AnswerReferences): Meaning => {
  const unasked = (reference: Reference | null) => (reference?.ids === undefined ? (reference?.weak ?? null) : null)
  return { contact: unasked(contact), project: unasked(project) }
}

/** An email that is merely given, and an external id that is merely remembered, mean what they mean without that. */
const hasQueuedFacts = ({ references, queued, purgesQueued }: Question): boolean =>
  purgesQueued ||
  keysToLookUp(references).some((id) => {
    const facts = queued.get(id)
    if (!facts) return false
    const isAsked = facts.said.some(({ sayings }) =>
      sayings.some(({ kind }) => kind !== 'remembered' && (kind !== 'given' || id !== references.contact?.weak)),
    )
    return isAsked || facts.existsFrom !== null
  })

/** `fresh`: an own id that is asked about is one with which a purge made a key start afresh. */
type StoredMeaning = Meaning & { fresh: boolean }

const storedMeanings = async (sql: Sql, questions: readonly Question[]): Promise<StoredMeaning[]> => {
  const asked = questions.map(({ workspaceId, number, source, references }) => ({
    workspace: workspaceId,
    number,
    source,
    ...references,
  }))
  return sql<StoredMeaning[]>`
    select (resolve(q.workspace, 'contact', reference_at(q.workspace, nullif(q.contact, 'null'), q.number), q.number, q.source)).id as contact,
      (resolve(q.workspace, 'project', nullif(q.project, 'null'), q.number, q.source)).id as project,
      exists (
        select from jsonb_array_elements_text(case when (q.contact -> 'own')::boolean then q.contact -> 'ids' end) as own (id)
        where key_of(q.workspace, own.id::uuid) <> own.id::uuid
      ) as fresh
    from rows from (
      jsonb_to_recordset(${sql.json(asked)}) as (workspace uuid, number bigint, source text, contact jsonb, project jsonb)
    ) with ordinality as q (workspace, number, source, contact, project, place)
    order by q.place`
}

type Emailed = Pick<Question, 'workspaceId' | 'number'> & { email: string }

/**
 * Whom emails mean as of these numbers. Most are looked for in vain, which costs two look-ups in an index each: 9 us of Postgres for
 * a submission, where 41 went into resolving every email as if something were known about it.
 */
const emailsAt = async (sql: Sql, asked: readonly Emailed[]): Promise<string[]> => {
  const literal = (values: readonly (string | number)[]): string => `{${values.join()}}`
  const found = await sql<{ place: number; contact: string }[]>`
    select q.place::int, resolve_weak(q.workspace, id_at(q.workspace, q.email, q.number), q.number) as contact
    from unnest(
      ${literal(asked.map(({ workspaceId }) => workspaceId))}::uuid[],
      ${literal(asked.map(({ email }) => email))}::uuid[],
      ${literal(asked.map(({ number }) => number))}::bigint[]
    ) with ordinality as q (workspace, email, number, place)
    where exists (select from identity_claim as c where c.workspace_id = q.workspace and c.key_id = q.email offset 0)
      or exists (select from fence as f where f.workspace_id = q.workspace and f.key_id = q.email offset 0)`
  const contacts = asked.map(({ email }) => email)
  for (const { place, contact } of found) contacts[place - 1] = contact
  return contacts
}
