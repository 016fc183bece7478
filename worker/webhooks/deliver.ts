import { listRetries, noteDeliveries, readChangeAt, type UndeliveredChange } from '../../db/deliveries.ts'
import { type Change, type ChangesPage, type FeedPlace, placeAt, readChanges } from '../../db/reads/changes.ts'
import { findWebhook, type Webhook } from '../../db/webhooks.ts'
import { type Delivery, FAILURES_TO_STOP, type FeedPage, judgeRound, type SendOutcome } from './judge-round.ts'
import { chooseWanted } from './wanted.ts'
import { type DeliveryDependencies, messageOf, send, testMessageOf } from './send.ts'

const CHANGES_AT_ONCE = 50
/** The most bytes of the records that a webhook has in hand. Only a first record may exceed them. */
const MOST_BYTES = 512 * 1024
/** The order of changes of different records does not matter. */
const POSTS_AT_ONCE = 8
/** After this time, the job sends no further change, so that other webhooks are served. */
const BUDGET_MS = 10_000

/**
 * Delivers the changes after the change position of a webhook, those of one record in order. A
 * change that the receiver does not confirm stops no other record: the change position passes it,
 * and the change is tried again with growing pauses, unless a later change of its record replaces
 * it. A crash can repeat changes, but leaves none out. Returns how many changes are confirmed.
 */
export const deliver = async (
  dependencies: DeliveryDependencies,
  named: { workspaceId: string; id: string },
): Promise<number> => {
  const until = performance.now() + BUDGET_MS
  let delivered = 0
  while (performance.now() < until && !dependencies.stop.aborted) {
    const webhook = await findWebhook(dependencies.sql, named)
    if (webhook?.state !== 'active' || !webhook.isDue) break
    const confirmed = await deliverNext(dependencies, webhook, until)
    if (confirmed === undefined) break
    delivered += confirmed
  }
  return delivered
}

/** Sends a test message. Returns `confirmed`, or the failure. */
export const deliverTest = async (
  dependencies: DeliveryDependencies,
  named: { workspaceId: string; id: string },
): Promise<string> => {
  const webhook = await findWebhook(dependencies.sql, named)
  if (webhook === undefined) return 'the webhook does not exist'
  const failure = await send(dependencies, webhook, testMessageOf(webhook))
  return failure?.fault ?? 'confirmed'
}

/**
 * Delivers the next changes, and the undelivered changes that are due. Returns how many are
 * confirmed; undefined if there is none to deliver.
 */
const deliverNext = async (
  dependencies: DeliveryDependencies,
  webhook: Webhook,
  until: number,
): Promise<number | undefined> => {
  const { sql } = dependencies
  const { due, hasRoom } = await listRetries(sql, webhook)
  const page = hasRoom ? await readNext(dependencies, webhook) : noChanges(webhook)
  if (page === 'expired') {
    await noteDeliveries(sql, webhook, { ...EXPIRED, place: webhook.place })
    return undefined
  }
  const changes = ofDifferentRecords(page.changes)
  const wanted = await chooseWanted(sql, webhook, changes)
  const deliveries = alternate(
    wanted.map(({ change, isHeld }) => ({ ...newDelivery(change), isHeld })),
    retriesOf(due, changes),
  )
  const outcomes = await sendInTurn(dependencies, webhook, { deliveries, until })
  const seen = { ...page, changes: wanted.map(({ change }) => change), next: nextAfter(page, changes) }
  const round = judgeRound(webhook, seen, { deliveries, outcomes })
  const hasMoved = round.place.position > webhook.place.position
  if (outcomes.length === 0 && !hasMoved) return undefined
  await noteDeliveries(sql, webhook, round)
  return round.confirmed
}

const readNext = ({ sql }: DeliveryDependencies, { workspaceId, place }: Webhook): Promise<ChangesPage> =>
  readChanges(sql, workspaceId, { after: place, limit: CHANGES_AT_ONCE, mostBytes: MOST_BYTES })

const noChanges = ({ place }: Webhook) => ({ changes: [], next: place, passSince: place.passSince })
const EXPIRED = {
  confirmed: 0,
  state: 'failed',
  receiver: 'failing',
  fault: 'position expired',
  pauseMs: 0,
  attempted: [],
} as const

/**
 * The changes before the first repeated record. A record that was removed and stored again occurs
 * twice: as a tombstone and as a change.
 */
const ofDifferentRecords = (changes: readonly Change[]): readonly Change[] => {
  const names = changes.map(nameOf)
  const repeated = names.findIndex((name, at) => names.indexOf(name) < at)
  return repeated < 0 ? changes : changes.slice(0, repeated)
}

/** The place after these first changes of a page. */
const nextAfter = ({ changes, next, passSince }: FeedPage, first: readonly Change[]): FeedPlace =>
  first.length === changes.length ? next : placeAt(first.at(-1)!.position, passSince)

const nameOf = ({ kind, id }: Pick<Change, 'kind' | 'id'>): string => `${kind} ${id}`

const newDelivery = (change: Change): Delivery => {
  const { kind, id, position, record } = change
  const isLarge = record !== undefined && record.length > MOST_BYTES
  return { kind, id, position, isTombstone: record === undefined, isLarge, attempts: 0, change }
}

/** A new change of a record replaces an undelivered one. Large ones wait for each other. */
const retriesOf = (due: readonly UndeliveredChange[], changes: readonly Change[]): Delivery[] => {
  const replaced = new Set(changes.map(nameOf))
  const firstLarge = due.find(({ isLarge }) => isLarge)
  return due
    .filter((change) => !replaced.has(nameOf(change)) && (!change.isLarge || change === firstLarge))
    .slice(0, CHANGES_AT_ONCE)
}

/**
 * New changes and repeated ones, by turns: if all repeated ones fail again, the new ones show
 * whether the receiver takes others.
 */
const alternate = <T>(first: readonly T[], second: readonly T[]): T[] =>
  Array.from({ length: Math.max(first.length, second.length) }, (_, at) => [
    ...first.slice(at, at + 1),
    ...second.slice(at, at + 1),
  ]).flat()

/**
 * Sends the changes, several at a time. Ends early if the receiver asks for a pause or confirms
 * nothing. Returns the outcomes of the first deliveries, in their order.
 */
const sendInTurn = async (
  dependencies: DeliveryDependencies,
  webhook: Webhook,
  { deliveries, until }: { deliveries: readonly Delivery[]; until: number },
): Promise<readonly SendOutcome[]> => {
  const outcomes: SendOutcome[] = []
  let [next, confirmed, failed] = [0, 0, 0]
  let mustPause = false
  const isOver = (): boolean =>
    dependencies.stop.aborted ||
    mustPause ||
    performance.now() > until ||
    (confirmed === 0 && failed >= FAILURES_TO_STOP)
  const sendNextOnes = async (): Promise<void> => {
    while (next < deliveries.length && !isOver()) {
      const at = next++
      const outcome = await sendOne(dependencies, webhook, deliveries[at]!)
      outcomes[at] = outcome
      if (outcome === 'confirmed') confirmed++
      else if (typeof outcome !== 'string') {
        failed++
        mustPause ||= outcome.kind === 'gone' || outcome.askedMs > 0
      }
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: POSTS_AT_ONCE }, sendNextOnes))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  return outcomes
}

const sendOne = async (
  dependencies: DeliveryDependencies,
  webhook: Webhook,
  { change, position, isLarge, isHeld = false }: Delivery,
): Promise<SendOutcome> => {
  if (isHeld) return 'held'
  const { sql, places } = dependencies
  const sendRead = async (): Promise<SendOutcome> => {
    const read = change ?? (await readChangeAt(sql, webhook.workspaceId, position))
    if (read === undefined) return 'replaced'
    return (await send(dependencies, webhook, messageOf(webhook, read))) ?? 'confirmed'
  }
  return isLarge ? places.alone(webhook.workspaceId, sendRead) : sendRead()
}
