import { type AttemptedChange, type DeliveryRound, WAITS_FOR_TAGS } from '../../db/deliveries.ts'
import { type Change, type ChangesPage, type FeedPlace, placeAt } from '../../db/reads/changes.ts'
import type { Webhook } from '../../db/webhooks.ts'
import type { DeliveryFailure } from './send.ts'

/**
 * A change to send. `change`: a new change; an undelivered one is read when its turn comes.
 * `isHeld`: the new change waits for tags.
 */
export type Delivery = AttemptedChange & { failingSince?: Date; change?: Change; isHeld?: boolean }

/** `replaced`: a later change of the record replaces the undelivered one. */
export type SendOutcome = 'confirmed' | 'replaced' | 'held' | DeliveryFailure

export type FeedPage = Exclude<ChangesPage, 'expired'>

/** If this many changes fail and none is confirmed, the receiver does not work. */
export const FAILURES_TO_STOP = 8
/** Feedback that gets no tags in this time is sent without. */
const HOLD_MS = 60_000
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 3_600_000
const GIVE_UP_AFTER_MS = 86_400_000
/** A webhook with few changes has few attempts in a day, which tell little. */
const LEAST_ATTEMPTS_TO_GIVE_UP = 8

/** Decides what follows from the outcomes of the first deliveries. */
export const judgeRound = (
  webhook: Webhook,
  page: FeedPage,
  { deliveries, outcomes }: { deliveries: readonly Delivery[]; outcomes: readonly SendOutcome[] },
): DeliveryRound => {
  const sent = outcomes.map((outcome, at) => ({ outcome, delivery: deliveries[at]! }))
  const failed = sent.flatMap(({ outcome, delivery }) =>
    typeof outcome === 'string' || outcome.kind === 'stopped'
      ? []
      : [{ ...outcome, isNew: delivery.change !== undefined }],
  )
  const confirmed = outcomes.filter((outcome) => outcome === 'confirmed').length
  const isGone = failed.some(({ kind }) => kind === 'gone')
  const receiver = confirmed > 0 && !isGone ? 'well' : isReceiverFailing(failed) ? 'failing' : 'unknown'
  const isOver =
    receiver === 'failing' && isTooLong(webhook.failingSince) && webhook.attempts >= LEAST_ATTEMPTS_TO_GIVE_UP
  const fault = (failed.find(({ kind }) => kind === 'gone') ?? failed[0])?.fault
  const askedMs = Math.min(GIVE_UP_AFTER_MS, Math.max(0, ...failed.map((failure) => failure.askedMs)))
  const pauseMs = Math.max(askedMs, receiver === 'failing' ? pauseAfter(webhook.attempts) : 0)
  return {
    place: placeAfter(webhook, page, sent.filter(({ delivery }) => delivery.change !== undefined).length),
    confirmed,
    state: isGone ? 'gone' : isOver ? 'failed' : 'active',
    receiver,
    ...(fault !== undefined && { fault }),
    pauseMs,
    attempted: sent.map(({ outcome, delivery }) => attemptedChange(outcome, delivery, askedMs)),
  }
}

/**
 * True if the receiver seems to fail for every message. A repeated failure of an undelivered change,
 * or the refusal of a message, says nothing about other changes.
 */
const isReceiverFailing = (failed: readonly (DeliveryFailure & { isNew: boolean })[]): boolean =>
  failed.length >= FAILURES_TO_STOP ||
  failed.some(({ kind, isNew }) => kind === 'gone' || (isNew && kind === 'passing'))

/** The place after the first new changes of the page. */
const placeAfter = ({ place }: Webhook, { changes, next, passSince }: FeedPage, sent: number): FeedPlace => {
  if (sent === changes.length) return next
  return sent === 0 ? place : placeAt(changes[sent - 1]!.position, passSince)
}

const attemptedChange = (
  outcome: SendOutcome,
  { kind, id, position, isTombstone, isLarge, attempts, failingSince }: Delivery,
  askedMs: number,
): AttemptedChange => {
  const change = { kind, id, position, isTombstone, isLarge }
  if (outcome === 'held') return { ...change, attempts, fault: WAITS_FOR_TAGS, pauseMs: HOLD_MS }
  if (typeof outcome === 'string') return { ...change, attempts }
  if (outcome.kind === 'stopped') return { ...change, attempts, fault: outcome.fault, pauseMs: 0 }
  const isGivenUp = outcome.kind === 'final' || isTooLong(failingSince)
  const pauseMs = isGivenUp ? null : Math.max(askedMs, pauseAfter(attempts))
  return { ...change, attempts: attempts + 1, fault: outcome.fault, pauseMs }
}

const isTooLong = (since: Date | null | undefined): boolean =>
  since != null && Date.now() - since.getTime() > GIVE_UP_AFTER_MS

const pauseAfter = (attempts: number): number =>
  Math.min(FIRST_PAUSE_MS * 2 ** attempts, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2)
