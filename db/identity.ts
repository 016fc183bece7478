import { inBatches } from './contract/in-batches.ts'
import type { AnswerReferences, Reference } from './contract/reference.ts'
import { isPermanentFault } from './fault.ts'
import type { Meaning, Question, ResolveReferences } from './meaning.ts'
import type { Sql } from './postgres.ts'
import { type Identity, meaningWithQueued } from './queued-identity.ts'
import { withinTime } from './within-time.ts'

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
  const askStored = inBatches(
    (questions: readonly Question[]) => storedMeanings(identity.sql, questions),
    STORED_BATCH,
    isPermanentFault,
  )
  const meaningOf = async (question: Question): Promise<Meaning> => {
    if (hasQueuedFacts(question)) return meaningWithQueued(identity, question)
    const { fresh, ...stored } = await askStored(question)
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

const STORED_BATCH = { items: 500, waitMs: 0 }

/** Only an email can have been claimed by somebody else, and only an id can be unknown. */
const needsLookUp = (reference: Reference | null): boolean =>
  reference?.ids !== undefined || reference?.weakKind === 'contact_email'

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
