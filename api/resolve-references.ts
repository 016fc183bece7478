import { type FeedbackRecord, feedbackSource } from '../contract/feedback-record.ts'
import {
  contactIdKey,
  emailKey,
  idOfEpoch,
  projectKey,
  type Realm,
  recordContactKey,
} from '../contract/identity/keys.ts'
import { keysOf } from '../contract/identity/named-keys.ts'
import {
  type NamedFeedback,
  findReferences,
  readFeedbackReferences,
  type ReferenceKeys,
  type StoredReference,
  type StoredReferences,
} from '../db/identity/references.ts'
import type { Sql } from '../db/connection/postgres.ts'
import { coalesce } from '../runtime/coalesce.ts'
import { withinTime } from '../runtime/within-time.ts'
import type { LogState } from '../queue/admission/call-admit.ts'
import type { AwaitProgress } from './submit/await-progress.ts'

/** An admitted feedback, its acceptance number, and the state of the log at its admission. */
type ReferenceQuestion = {
  realm: Realm
  submissionId: string
  number: number
  feedbackId: string
  record: FeedbackRecord
  log: LogState
}

/**
 * The own ids for the answer. An id is null if the feedback has no contact or project, or if the id
 * cannot be determined in time.
 */
type ResolvedReferences = { contactId: string | null; projectId: string | null }
export type ResolveReferences = (question: ReferenceQuestion) => Promise<ResolvedReferences>

const TOGETHER = { items: 500, everyMs: 5 }
/** How long an answer waits for its feedback to be applied. */
const APPLIED_WITHIN_MS = 300

type ReferenceDependencies = { sql: Sql; timeoutMs: number; awaitProgress: AwaitProgress }

/**
 * Finds the own ids of a feedback's contact and project. If other submissions may change an id,
 * waits until the feedback is applied, and reads the id from its row. Leaves out an id that cannot
 * be determined in time. Simultaneous requests share a query.
 */
export const createResolveReferences = ({
  sql,
  timeoutMs,
  awaitProgress,
}: ReferenceDependencies): ResolveReferences => {
  // Each call has its own time-out, so that a hanging connection does not delay later calls.
  const find = coalesce(
    (asked: readonly ReferenceKeys[]) => withinTime(findReferences(sql, asked), timeoutMs),
    TOGETHER,
  )
  const read = coalesce(
    (feedback: readonly NamedFeedback[]) => withinTime(readFeedbackReferences(sql, feedback), timeoutMs),
    TOGETHER,
  )
  const readApplied = async ({ realm: { workspaceId }, ...question }: ReferenceQuestion) => {
    const submission = { workspaceId, id: question.submissionId }
    const progress = await awaitProgress(submission, { until: 'finished', ms: APPLIED_WITHIN_MS })
    return progress && (await read({ workspaceId, id: question.feedbackId }))
  }
  const resolve = async (question: ReferenceQuestion, keys: FeedbackKeys): Promise<ResolvedReferences> => {
    const stored = await find(keys)
    const contact = contactOf(keys, stored, question)
    const project = projectOf(keys, stored, question)
    if (contact.isSure && project.isSure) return { contactId: contact.id, projectId: project.id }
    const applied = await readApplied(question).catch(() => undefined)
    return {
      contactId: contact.isSure ? contact.id : (applied?.contactId ?? null),
      projectId: project.isSure ? project.id : (applied?.projectId ?? null),
    }
  }
  return async (question) => {
    const keys = referenceKeysOf(question)
    const needsContact = keys.contact.ids.length > 0 || keys.contact.emailKey !== undefined
    const needsProject = keys.projectIds.length > 0
    const contactId = needsContact ? null : keys.namedContactId
    const projectId = needsProject ? null : keys.namedProjectId
    if (!needsContact && !needsProject) return { contactId, projectId }
    return withinTime(resolve(question, keys), timeoutMs + APPLIED_WITHIN_MS).catch(() => ({ contactId, projectId }))
  }
}

/**
 * The own ids of a contact with a name alone and of a project follow from the feedback and from the
 * name. No purge changes them.
 */
type FeedbackKeys = ReferenceKeys & { namedContactId: string | null; namedProjectId: string | null }

/** The keys of a feedback's contact and project. Ids count first, in their order. */
const referenceKeysOf = ({ realm, record, feedbackId }: ReferenceQuestion): FeedbackKeys => {
  const named = keysOf({ operation: 'create_feedback', body: record })
  const email = named.find((key) => key.kind === 'email')?.email
  const projectName = named.find((key) => key.kind === 'projectName')?.name
  const hasContactName = named.some(({ kind }) => kind === 'contactName')
  return {
    workspaceId: realm.workspaceId,
    contact: {
      ids: named.flatMap((key) => {
        if (key.kind === 'contactExternalId') return contactIdKey(realm, key.externalId)
        return key.kind === 'contactId' ? key.id : []
      }),
      areExternal: record.isExternalContactId,
      source: feedbackSource(record),
      email,
      emailKey: email === undefined ? undefined : emailKey(realm, email),
    },
    projectIds: named.flatMap((key) => (key.kind === 'projectId' ? key.id : [])),
    namedContactId: hasContactName ? recordContactKey(realm, feedbackId) : null,
    namedProjectId: projectName === undefined ? null : projectKey(realm, projectName),
  }
}

/** `isSure`: the stored feedback will have this id, or an id to which this id resolves. */
type Resolved = { id: string | null; isSure: boolean }

const contactOf = (
  { contact, namedContactId }: FeedbackKeys,
  stored: StoredReferences,
  { number, log }: ReferenceQuestion,
): Resolved => {
  const { ids, emailKey: keyOfEmail } = contact
  const canBePurged = ids.length > 0 || keyOfEmail !== undefined
  if (canBePurged && log.isPurgeWaiting) return UNSURE
  // A queued feedback can create an own id, too. Only an identify or a conversation adds an external
  // id.
  const mayBeQueued = contact.areExternal ? log.isIdentifyWaiting : !log.isLogEmpty
  const byId = firstOf(stored.contacts, { number, log, mayBeQueued })
  if (byId) return byId
  if (keyOfEmail === undefined) return { id: namedContactId, isSure: true }
  if (stored.email) return judge(stored.email, { number, log })
  const { epoch, number: purgedAt } = stored.epoch
  return purgedAt > number ? UNSURE : { id: idOfEpoch(keyOfEmail, epoch), isSure: true }
}

const projectOf = (keys: FeedbackKeys, stored: StoredReferences, question: ReferenceQuestion): Resolved =>
  firstOf(stored.projects, { ...question, mayBeQueued: !question.log.isLogEmpty }) ?? {
    id: keys.namedProjectId,
    isSure: true,
  }

const UNSURE: Resolved = { id: null, isSure: false }

type Moment = Pick<ReferenceQuestion, 'number' | 'log'>

/**
 * The stored id with the highest precedence; undefined without one. The result is unsure if the log
 * may still bring the id that the feedback names first.
 */
const firstOf = (
  stored: readonly (StoredReference | undefined)[],
  { mayBeQueued, ...moment }: Moment & { mayBeQueued: boolean },
): Resolved | undefined => {
  const first = stored.find((reference) => reference !== undefined)
  if (mayBeQueued && stored.length > 0 && stored[0] === undefined) return UNSURE
  return first && judge(first, moment)
}

/**
 * A reference is unsure if a submission after the feedback gave it. A reference that is not final
 * is also unsure while an earlier identify or conversation waits.
 */
const judge = ({ id, number, isFinal }: StoredReference, moment: Moment): Resolved =>
  number > moment.number || (!isFinal && moment.log.isIdentifyWaiting) ? UNSURE : { id, isSure: true }
