import * as fc from 'fast-check'
import * as v from 'valibot'
import { accountRecord, contactRecord } from '../../contract/contact-record.ts'
import { conversationRecord } from '../../contract/conversation-record.ts'
import { correction, deletion } from '../../contract/correction.ts'
import { newTheme, themeEdit } from '../../contract/theme-edit.ts'
import { feedbackId, feedbackRecord } from '../../contract/feedback-record.ts'
import { purgeRequest } from '../../contract/purge-request.ts'
import type { Submission } from '../../contract/submission.ts'
import type { HashKey, Realm } from '../../contract/identity/keys.ts'
import {
  account,
  contact,
  conversation,
  correctionIn,
  deletionIn,
  feedbackIn,
  newTheme as drawnTheme,
  purge,
  themeEdit as drawnEdit,
  UNKNOWN_ID,
} from './drawn-bodies.ts'

/** The workspaces and the most submissions of a history, unless a test gives others. */
export const WORKSPACES = ['6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a01', '6f1b7c1e-52f1-4d0a-9c58-0c8f4f1f3a02']
export const MAX_LENGTH = 30
const FIRST_WORKSPACE_WEIGHT = 4
/** The first number of each workspace. Numbers have gaps only at dead submissions. */
const FIRST_NUMBER = 1_000_000
/** Feedback may name the ids of this many first submissions of its workspace. */
const NAMED_SUBMISSIONS = 4
/** The most submissions that are queued at an admission. */
const MOST_QUEUED = 8
/** A replay follows within this many submissions after the dead submission. */
const MOST_BEFORE_REPLAY = 10
/** A repetition repeats one of this many submissions before it. */
const REPEATED_FROM = 6

type HistoryOptions = {
  /** The key for the own ids in the histories. */
  hashKey: HashKey
  workspaceIds?: readonly string[]
  maxLength?: number
  /** Whether some submissions are purges. */
  purges?: boolean
  /** Whether some submissions are corrections, and some deletions of feedback. */
  corrections?: boolean
  /** Whether some submissions make and edit themes. */
  themes?: boolean
  /** Whether some submissions died, and return later with a new number. */
  replays?: boolean
}

/** Submissions of all operations in the order of acceptance. Every body has passed its schema. */
export const submissionHistories = ({
  hashKey,
  workspaceIds = WORKSPACES,
  maxLength = MAX_LENGTH,
  purges = false,
  corrections = false,
  themes = false,
  replays = false,
}: HistoryOptions): fc.Arbitrary<Submission[]> => {
  const submissions = workspaceIds.map((workspaceId, index) => ({
    // The first workspace has most submissions; the others only have to exist.
    weight: index === 0 ? FIRST_WORKSPACE_WEIGHT : 1,
    arbitrary: submissionsOf({ hashKey, workspaceId }, { workspace: index, purges, corrections, themes }),
  }))
  const distance = fc.option(fc.nat({ max: REPEATED_FROM - 1 }), { freq: 2 })
  const drawn = fc.tuple(fc.oneof(...submissions), distance, fate(replays))
  return fc.array(drawn, { maxLength, size: 'max' }).map((all) => {
    const entries: (Drawn & Fate)[] = []
    for (const [own, back, circumstances] of all) {
      const submission = back === null ? own : (entries.at(-1 - back) ?? own)
      entries.push({ ...submission, ...circumstances })
    }
    return accept(entries, { hashKey, workspaceIds })
  })
}

/**
 * `queued`: the number of queued submissions at the admission, if known. `replayedAfter`: the
 * number of submissions until the replay, if the submission dies.
 */
type Fate = { queued: number | null; replayedAfter: number | null }
type Drawn = { workspace: number; operation: Submission['operation']; body: unknown }

const fate = (replays: boolean): fc.Arbitrary<Fate> =>
  fc.record({
    queued: fc.option(fc.nat({ max: MOST_QUEUED }), { freq: 3 }),
    replayedAfter: replays
      ? fc.oneof(
          { weight: 5, arbitrary: fc.constant(null) },
          { weight: 1, arbitrary: fc.integer({ min: 1, max: MOST_BEFORE_REPLAY }) },
        )
      : fc.constant(null),
  })

type Dead = Drawn & { submissionId: string; originalNumber: number; replayAt: number }

/** Assigns the numbers. A dead submission returns after `replayedAfter` others, or at the end. */
const accept = (
  drawn: readonly (Drawn & Fate)[],
  { hashKey, workspaceIds }: { hashKey: HashKey; workspaceIds: readonly string[] },
): Submission[] => {
  const counts = workspaceIds.map(() => 0)
  const latest = workspaceIds.map((): Latest => ({ themes: [], feedback: [] }))
  const accepted: Submission[] = []
  let dead: Dead[] = []
  const enter = (
    { workspace, operation, body }: Drawn,
    more: Pick<Submission, 'submissionId' | 'originalNumber' | 'seenPosition'>,
  ): void => {
    const number = FIRST_NUMBER + counts[workspace]!
    counts[workspace]! += 1
    const workspaceId = workspaceIds[workspace]!
    const named = namingLatest(body, latest[workspace]!)
    const submission = parsed({ workspaceId, number, operation, body: named, ...more })
    accepted.push(submission)
    // Without a feedback, no theme comes into being.
    if (operation === 'create_theme' && latest[workspace]!.feedback.length > 0)
      latest[workspace]!.themes.push(submission.submissionId)
    if (submission.operation === 'create_feedback')
      latest[workspace]!.feedback.push(
        feedbackId({ hashKey, workspaceId, submissionId: submission.submissionId }, submission.body),
      )
  }
  const replay = (isDue: (submission: Dead) => boolean): void => {
    const due = dead.filter(isDue)
    dead = dead.filter((submission) => !isDue(submission))
    for (const { submissionId, originalNumber, ...submission } of due)
      enter(submission, { submissionId, originalNumber })
  }
  for (const [index, submission] of drawn.entries()) {
    replay(({ replayAt }) => replayAt <= index)
    const count = counts[submission.workspace]!
    const number = FIRST_NUMBER + count
    const submissionId = submissionIdOf(submission.workspace, count)
    if (submission.replayedAfter === null) {
      const seenPosition = submission.queued === null ? {} : { seenPosition: number - 1 - submission.queued }
      enter(submission, { submissionId, ...seenPosition })
    } else {
      counts[submission.workspace] = count + 1
      dead.push({ ...submission, submissionId, originalNumber: number, replayAt: index + submission.replayedAfter })
    }
  }
  replay(() => true)
  return accepted
}

/** The ids of the themes and of the feedback of a workspace, in their order. */
type Latest = { themes: string[]; feedback: string[] }

/** Replaces names such as `theme 0`, the latest one, by ids. */
const namingLatest = (body: unknown, { themes, feedback }: Latest): unknown => {
  const named = JSON.parse(JSON.stringify(body), (member, value: unknown) => {
    const [, kind, back] = (typeof value === 'string' && /^(theme|feedback) (\d)$/.exec(value)) || []
    if (back === undefined) return value
    const ids = kind === 'theme' ? themes : feedback
    if (member === 'id') return ids.at(-1 - Number(back)) ?? ids.at(-1) ?? UNKNOWN_ID
    // Without a theme, the other members still count.
    return ids.at(-1 - Number(back)) ?? (member === 'themeId' || member === 'mergedInto' ? null : UNKNOWN_ID)
  }) as { id?: string; mergedInto?: string; feedbackIds?: string[]; removedFeedbackIds?: string[] }
  const isOwn = named.mergedInto !== undefined && named.mergedInto === named.id
  // No id may be in both lists.
  const removedFeedbackIds = named.removedFeedbackIds?.filter((id) => !named.feedbackIds?.includes(id))
  return { ...named, ...(isOwn && { mergedInto: null }), ...(removedFeedbackIds && { removedFeedbackIds }) }
}

const SCHEMAS = {
  create_feedback: feedbackRecord,
  identify_contact: contactRecord,
  identify_account: accountRecord,
  submit_conversation: conversationRecord,
  purge_contact: purgeRequest,
  correct_feedback: correction,
  delete_feedback: deletion,
  create_theme: newTheme,
  edit_theme: themeEdit,
} as const

/** Parses the body of a submission by its schema. */
export const parsed = (given: Omit<Submission, 'body'> & { body: unknown }): Submission =>
  ({ ...given, body: v.parse(SCHEMAS[given.operation], given.body) }) as Submission

/** A UUIDv7 that depends only on the place in a history, so that bodies can name it. */
const submissionIdOf = (workspace: number, count: number): string =>
  `01900000-0000-7000-8000-${String(workspace).padStart(4, '0')}${String(count).padStart(8, '0')}`

const submissionsOf = (
  realm: Realm,
  {
    workspace,
    purges,
    corrections,
    themes,
  }: { workspace: number; purges: boolean; corrections: boolean; themes: boolean },
): fc.Arbitrary<Drawn> => {
  const as = (operation: Drawn['operation']) => (body: unknown) => ({ workspace, operation, body })
  const named = Array.from({ length: NAMED_SUBMISSIONS }, (_, count) => submissionIdOf(workspace, count))
  return fc.oneof(
    { weight: themes ? 14 : 5, arbitrary: feedbackIn(realm, named).map(as('create_feedback')) },
    { weight: 4, arbitrary: contact.map(as('identify_contact')) },
    { weight: 2, arbitrary: account.map(as('identify_account')) },
    { weight: 2, arbitrary: conversation.map(as('submit_conversation')) },
    ...(purges ? [{ weight: 1, arbitrary: purge.map(as('purge_contact')) }] : []),
    ...(corrections
      ? [
          { weight: 4, arbitrary: correctionIn(realm, named).map(as('correct_feedback')) },
          { weight: 1, arbitrary: deletionIn(realm, named).map(as('delete_feedback')) },
        ]
      : []),
    ...(themes
      ? [
          { weight: 5, arbitrary: drawnTheme.map(as('create_theme')) },
          { weight: 5, arbitrary: drawnEdit.map(as('edit_theme')) },
        ]
      : []),
  )
}
