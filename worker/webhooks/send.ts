import { Buffer } from 'node:buffer'
import { createHmac, randomUUID } from 'node:crypto'
import type { HashKey } from '../../contract/identity/keys.ts'
import { webhookSecret } from '../../contract/token-format.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import type { Change } from '../../db/reads/changes.ts'
import type { Webhook } from '../../db/webhooks.ts'
import { MICROSECONDS_PER_MS } from '../../queue/keys.ts'
import { codeOf, describeFault } from '../../runtime/fault.ts'
import { NOT_PUBLIC_ADDRESS } from '../../runtime/public-address.ts'
import { retryAfterMs } from '../../runtime/retry-after.ts'
import type { Places } from './places.ts'
import { post } from './post.ts'
import { slackText } from './slack-text.ts'

export type DeliveryDependencies = {
  sql: Sql
  hashKey: HashKey
  /** Hosts that may have addresses outside the public internet. */
  allowedHosts: readonly string[]
  places: Places
  stop: AbortSignal
}

/** A message to sign and to send. Bytes, so that a large record is not copied again for each use. */
export type WebhookMessage = { id: string; body: Buffer }

/**
 * A message that the receiver has not confirmed.
 *
 * - `final`: the receiver refuses this message, and would refuse it again.
 * - `gone`: the receiver wants no messages.
 * - `stopped`: the worker ends.
 *
 * `askedMs`: the pause that the receiver has asked for.
 */
export type DeliveryFailure = { kind: 'passing' | 'final' | 'gone' | 'stopped'; fault: string; askedMs: number }

const [BAD_REQUEST, GONE, CONTENT_TOO_LARGE, UNPROCESSABLE, TOO_MANY] = [400, 410, 413, 422, 429]
const FINAL: readonly number[] = [BAD_REQUEST, CONTENT_TOO_LARGE, UNPROCESSABLE]
/** The pause after a 429 without Retry-After. */
const TOO_MANY_PAUSE_MS = 1_000
const MS_PER_SECOND = 1_000
const SECRET_PREFIX = 'whsec_'

/** Undefined if the receiver has confirmed the message. */
export const send = async (
  { hashKey, allowedHosts, stop }: DeliveryDependencies,
  webhook: Webhook,
  message: WebhookMessage,
): Promise<DeliveryFailure | undefined> => {
  try {
    const headers = signed(hashKey, webhook, message)
    const { status, retryAfter } = await post(new URL(webhook.url), { body: message.body, headers, allowedHosts, stop })
    if (status >= 200 && status < 300) return undefined
    const askedMs = retryAfterMs(retryAfter) ?? (status === TOO_MANY ? TOO_MANY_PAUSE_MS : 0)
    const kind = status === GONE ? 'gone' : FINAL.includes(status) ? 'final' : 'passing'
    return { kind, fault: `status ${status}`, askedMs }
  } catch (error) {
    const fault = codeOf(error) === NOT_PUBLIC_ADDRESS ? NOT_ALLOWED : describeFault(error)
    return { kind: stop.aborted ? 'stopped' : 'passing', fault, askedMs: 0 }
  }
}

const NOT_ALLOWED = `${NOT_PUBLIC_ADDRESS} (WEBHOOK_ALLOWED_HOSTS of the worker does not name the host)`

/** The headers of Standard Webhooks. During a rotation, both secrets sign. */
const signed = (
  hashKey: HashKey,
  { id, secretVersion, isRotating }: Pick<Webhook, 'id' | 'secretVersion' | 'isRotating'>,
  message: WebhookMessage,
): Record<string, string> => {
  const seconds = String(Math.floor(Date.now() / MS_PER_SECOND))
  const versions = isRotating ? [secretVersion, secretVersion - 1] : [secretVersion]
  const signatures = versions.map((version) => {
    const key = Buffer.from(webhookSecret(hashKey, id, version).slice(SECRET_PREFIX.length), 'base64')
    const hash = createHmac('sha256', key).update(`${message.id}.${seconds}.`).update(message.body)
    return `v1,${hash.digest('base64')}`
  })
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'feedback-insights',
    'webhook-id': message.id,
    'webhook-timestamp': seconds,
    'webhook-signature': signatures.join(' '),
  }
}

/** Every delivery of a change has the same id. */
export const messageOf = (webhook: Webhook, { position, kind, id, record, mergedInto }: Change): WebhookMessage => {
  const messageId = `${webhook.id}_${position}`
  if (webhook.format === 'slack' && record !== undefined) return textMessage(messageId, slackText({ kind, record }))
  const type = `${kind}.${record === undefined ? 'deleted' : 'changed'}`
  const timestamp = new Date(position / MICROSECONDS_PER_MS).toISOString()
  const data = JSON.stringify({ position, kind, id, deleted: record === undefined, mergedInto })
  const whole = record === undefined ? data : `${data.slice(0, -1)},"record":${record}}`
  const body = Buffer.from(`{"type":"${type}","timestamp":"${timestamp}","data":${whole}}`)
  return { id: messageId, body }
}

/** A test message, which tells of no record. */
export const testMessageOf = ({ id, format }: Webhook): WebhookMessage => {
  const messageId = `${id}_test_${randomUUID()}`
  if (format === 'slack') return textMessage(messageId, 'A test of Feedback Insights')
  const body = { type: 'webhook.test', timestamp: new Date().toISOString(), data: {} }
  return { id: messageId, body: Buffer.from(JSON.stringify(body)) }
}

const textMessage = (id: string, text: string): WebhookMessage => ({ id, body: Buffer.from(JSON.stringify({ text })) })
