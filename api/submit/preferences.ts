import { createHmac } from 'node:crypto'
import type { Idempotency } from '../../queue/idempotency.ts'
import type { HashKey } from '../../contract/identity/own-id.ts'
import type { Refusal } from '../refusal.ts'

const MAX_WAIT_SECONDS = 30
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

/** The seconds in `Prefer: wait=N`, at most 30; undefined without this preference. Other preferences are ignored. */
export const waitSeconds = (headers: Headers): number | undefined => {
  const [, seconds] = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,9})"?\s*(?:$|[,;])/i.exec(headers.get('prefer') ?? '') ?? []
  return seconds === undefined ? undefined : Math.min(Number(seconds), MAX_WAIT_SECONDS)
}

/** Keyed hashes of the caller's idempotency key and body, since neither is kept itself; undefined without the header. */
export const idempotencyOf = (
  headers: Headers,
  body: unknown,
  hashKey: HashKey,
): Idempotency | undefined | Extract<Refusal, { refused: 'invalid' }> => {
  const key = headers.get('idempotency-key')
  if (key === null) return undefined
  if (!IDEMPOTENCY_KEY.test(key)) {
    const message = 'The header Idempotency-Key must be 1 to 255 visible ASCII characters'
    return { refused: 'invalid', problems: [{ message, path: 'Idempotency-Key' }] }
  }
  const hash = (text: string): string => createHmac('sha256', hashKey).update(text).digest('base64url')
  return { key: hash(key), body: hash(JSON.stringify(body)) }
}
