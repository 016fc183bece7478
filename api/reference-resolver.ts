import { coalesce } from '../process/coalesce.ts'
import type { AnswerReferences, Reference } from '../contract/identity/reference.ts'
import { isPermanentFault } from '../process/fault.ts'
import type { Meaning, Question, ResolveReferences } from '../contract/identity/meaning.ts'
import { type EmailQuestion, emailsAt, type StoredMeaning, storedMeanings } from '../db/identity/stored-meanings.ts'
import { type Identity, meaningWithQueued } from './meaning-with-queued.ts'
import { withinTime } from '../process/within-time.ts'

/** The keys whose queued facts can change what a feedback's references mean. */
export const keysToLookUp = ({ contact, project }: AnswerReferences): string[] => [
  ...(contact?.ids ?? []),
  ...(contact?.weakKind === 'contact_email' ? [contact.weak!] : []),
  ...(project?.ids ?? []),
]

/**
 * Whom a feedback means as of its number, by what is stored and what is queued. A queued fact leaves the books only after it is
 * stored, and admission reads the books before this reads Postgres, so no fact is missed. While Postgres cannot be asked, the
 * answer is the id that a find-or-create contact or project will have or resolve to, and null for a reference that cannot be checked.
 * Requests that ask at once share one query.
 */
export const referenceResolver = (identity: Identity, timeoutMs: number): ResolveReferences => {
  // Each call has a time-out of its own too. Otherwise a call on a hanging connection would hold up the requests that come later.
  const askStored = coalesce(
    (questions: readonly Question[]) => withinTime(storedMeanings(identity.sql, questions), timeoutMs),
    TOGETHER,
  )
  const askEmail = coalesce(
    (questions: readonly EmailQuestion[]) => withinTime(emailsAt(identity.sql, questions), timeoutMs),
    TOGETHER,
  )
  /** A bad question fails alone: after a permanent fault each question of the call is asked by itself. */
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
    // With some own ids a purge made a key start afresh. The books know them by their key alone, and an own id that is not
    // stored may be one of them.
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

/** A queued `given` of the asked email and a queued `remembered` change nothing about whom the key means. */
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
