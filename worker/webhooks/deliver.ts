import { randomUUID } from 'node:crypto'
import { Webhook as Signer } from 'standardwebhooks'
import type { HashKey } from '../../contract/identity/keys.ts'
import { webhookSecret } from '../../contract/token-format.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { type Change, type ChangesPage, placeAt, readChanges } from '../../db/reads/changes.ts'
import { advanceWebhook, findWebhook, noteWebhookFault, type Webhook } from '../../db/webhooks.ts'
import { MICROSECONDS_PER_MS } from '../../queue/keys.ts'
import { describeFault } from '../../runtime/fault.ts'
import { retryAfterMs } from '../../runtime/retry-after.ts'
import { post } from './post.ts'

type DeliveryDependencies = {
  sql: Sql
  hashKey: HashKey
  /** Hosts that may have addresses outside the public internet. */
  allowedHosts: readonly string[]
  stop: AbortSignal
}

const CHANGES_AT_ONCE = 50
/** The order of changes of different records does not matter. */
const POSTS_AT_ONCE = 8
/**
 * After this time, the job reads no further page, so that other webhooks are served. Maintenance
 * adds another job while there are changes.
 */
const BUDGET_MS = 20_000
const FIRST_PAUSE_MS = 5_000
const LONGEST_PAUSE_MS = 3_600_000
const GIVE_UP_AFTER_MS = 86_400_000
const MS_PER_SECOND = 1_000

/**
 * Delivers the changes after the change position of a webhook, those of one record in order. The
 * change position stops before the first unconfirmed change. So a failure or a crash can repeat
 * changes, but leaves none out. Returns how many changes the change position has passed.
 */
export const deliver = async (
  dependencies: DeliveryDependencies,
  named: { workspaceId: string; id: string },
): Promise<number> => {
  const until = performance.now() + BUDGET_MS
  let delivered = 0
  while (performance.now() < until && !dependencies.stop.aborted) {
    const webhook = await findWebhook(dependencies.sql, named)
    if (webhook?.state !== 'active') break
    const page = await readChanges(dependencies.sql, webhook.workspaceId, {
      after: webhook.place,
      limit: CHANGES_AT_ONCE,
    })
    const confirmed = await deliverPage(dependencies, webhook, page)
    delivered += confirmed
    if (page === 'expired' || confirmed < page.changes.length || page.next.position === webhook.place.position) break
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
  const text = JSON.stringify({ type: 'webhook.test', timestamp: new Date().toISOString(), data: {} })
  const failure = await send(dependencies, webhook, { id: `${webhook.id}_test_${randomUUID()}`, text })
  return failure?.fault ?? 'confirmed'
}

/** Delivers a page and moves the change position. Returns how many changes it has passed. */
const deliverPage = async (
  dependencies: DeliveryDependencies,
  webhook: Webhook,
  page: ChangesPage,
): Promise<number> => {
  const { sql } = dependencies
  if (page === 'expired') {
    await noteWebhookFault(sql, webhook, { fault: 'position expired', pauseMs: 0, state: 'failed' })
    return 0
  }
  let confirmed = 0
  let failure: Failure | undefined
  while (confirmed < page.changes.length && failure === undefined) {
    const together = ofDifferentRecords(page.changes.slice(confirmed, confirmed + POSTS_AT_ONCE))
    const outcomes = await Promise.all(
      together.map((change) => send(dependencies, webhook, messageOf(webhook, change))),
    )
    const failedAt = outcomes.findIndex((outcome) => outcome !== undefined)
    failure = outcomes[failedAt]
    confirmed += failedAt < 0 ? outcomes.length : failedAt
  }
  const to = failure === undefined ? page.next : placeAt(page.changes[confirmed - 1]?.position ?? 0, page.passSince)
  if (failure === undefined || confirmed > 0) await advanceWebhook(sql, webhook, { to, delivered: confirmed })
  if (failure !== undefined && !dependencies.stop.aborted)
    await noteFailure(sql, confirmed > 0 ? { ...webhook, attempts: 0, failingSince: null } : webhook, failure)
  return confirmed
}

/**
 * The changes before the first repeated record. A record that was removed and stored again occurs
 * twice: as a tombstone and as a change.
 */
const ofDifferentRecords = (changes: readonly Change[]): readonly Change[] => {
  const names = changes.map(({ kind, id }) => `${kind} ${id}`)
  const repeated = names.findIndex((name, at) => names.indexOf(name) < at)
  return repeated < 0 ? changes : changes.slice(0, repeated)
}

type Failure = { fault: string; isGone: boolean; retryAfterMs: number | undefined }

/** Undefined if the receiver has confirmed the message. */
const send = async (
  { hashKey, allowedHosts, stop }: DeliveryDependencies,
  webhook: Webhook,
  message: { id: string; text: string },
): Promise<Failure | undefined> => {
  try {
    const headers = signed(hashKey, webhook, message)
    const { status, retryAfter } = await post(new URL(webhook.url), { text: message.text, headers, allowedHosts, stop })
    if (status >= 200 && status < 300) return undefined
    return { fault: `status ${status}`, isGone: status === 410, retryAfterMs: retryAfterMs(retryAfter) }
  } catch (error) {
    return { fault: describeFault(error), isGone: false, retryAfterMs: undefined }
  }
}

/** The headers of Standard Webhooks. During a rotation, both secrets sign. */
const signed = (
  hashKey: HashKey,
  { id, secretVersion, isRotating }: Pick<Webhook, 'id' | 'secretVersion' | 'isRotating'>,
  message: { id: string; text: string },
): Record<string, string> => {
  const now = new Date()
  const versions = isRotating ? [secretVersion, secretVersion - 1] : [secretVersion]
  const signatures = versions.map((version) =>
    new Signer(webhookSecret(hashKey, id, version)).sign(message.id, now, message.text),
  )
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'feedback-insights',
    'webhook-id': message.id,
    'webhook-timestamp': String(Math.floor(now.getTime() / MS_PER_SECOND)),
    'webhook-signature': signatures.join(' '),
  }
}

/** Every delivery of a change has the same id. */
const messageOf = (
  webhook: Webhook,
  { position, kind, id, record, mergedInto }: Change,
): { id: string; text: string } => {
  const type = `${kind}.${record === undefined ? 'deleted' : 'changed'}`
  const timestamp = new Date(position / MICROSECONDS_PER_MS).toISOString()
  const data = JSON.stringify({ position, kind, id, deleted: record === undefined, mergedInto })
  const whole = record === undefined ? data : `${data.slice(0, -1)},"record":${record}}`
  return { id: `${webhook.id}_${position}`, text: `{"type":"${type}","timestamp":"${timestamp}","data":${whole}}` }
}

const noteFailure = async (sql: Sql, webhook: Webhook, failure: Failure): Promise<void> => {
  const { fault, isGone } = failure
  const { attempts, failingSince } = webhook
  const isOver = failingSince !== null && Date.now() - failingSince.getTime() > GIVE_UP_AFTER_MS
  const longest = Math.min(FIRST_PAUSE_MS * 2 ** attempts, LONGEST_PAUSE_MS)
  await noteWebhookFault(sql, webhook, {
    fault,
    pauseMs: Math.min(failure.retryAfterMs ?? longest * (0.5 + Math.random() / 2), GIVE_UP_AFTER_MS),
    state: isGone ? 'gone' : isOver ? 'failed' : 'active',
  })
}
