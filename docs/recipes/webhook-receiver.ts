import { Buffer } from 'node:buffer'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'

/** A change as the feed has it. A tombstone has no record. */
type Change = { position: number; kind: string; id: string; deleted: boolean; record?: object }
type Message = { type: string; data: Change }

const { WEBHOOK_SECRET = '', WEBHOOK_SECRET_BEFORE = '', RECORDS = 'records', PORT = '8080' } = process.env
/** The former secret stays valid while you rotate the secret. */
const keys = [WEBHOOK_SECRET, WEBHOOK_SECRET_BEFORE]
  .filter((secret) => secret !== '')
  .map((secret) => Buffer.from(secret.replace(/^whsec_/, ''), 'base64'))
const MOST_BYTES = 64 * 1024 * 1024
/** A stranger may have copied a message with an older signature. */
const SIGNED_WITHIN_SECONDS = 300

/**
 * Standard Webhooks sign the id, the time and the bytes. The header has a signature for each
 * secret.
 */
const isGenuine = ({ headers }: IncomingMessage, bytes: Buffer): boolean => {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': given } = headers
  if (!(Math.abs(Date.now() / 1_000 - Number(time)) <= SIGNED_WITHIN_SECONDS)) return false
  const expected = keys.map((key) =>
    createHmac('sha256', key)
      .update(`${String(id)}.${String(time)}.`)
      .update(bytes),
  )
  const signatures = expected.map((hmac) => Buffer.from(`v1,${hmac.digest('base64')}`))
  return String(given)
    .split(' ')
    .map((each) => Buffer.from(each))
    .some((each) => signatures.some((own) => own.length === each.length && timingSafeEqual(own, each)))
}

/**
 * Keeps the latest change of each record as a file, and ignores a change that is not newer. A
 * tombstone stays as a file, so that an older change cannot bring the record back.
 */
const keep = (change: Change): void => {
  const file = join(RECORDS, `${change.kind}-${change.id}.json`.replaceAll(/[^\w.-]/g, '_'))
  const known = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Change).position : 0
  if (change.position <= known) return
  writeFileSync(`${file}.new`, JSON.stringify(change), { flush: true, mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** Answers 2xx once the change is kept. After the other answers, the service tries again for a day. */
const answer = async (request: IncomingMessage): Promise<number> => {
  if (request.method !== 'POST') return 405
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > MOST_BYTES) return 413
    chunks.push(chunk)
  }
  const bytes = Buffer.concat(chunks)
  if (!isGenuine(request, bytes)) return 401
  const { type, data } = JSON.parse(bytes.toString()) as Message
  if (type !== 'webhook.test') keep(data)
  return 204
}

if (keys.length === 0) throw new Error('Set WEBHOOK_SECRET to the secret that `npm run webhook -- create` printed')
mkdirSync(RECORDS, { recursive: true })
const server = createServer((request, response) => {
  void answer(request)
    .catch((error: unknown) => (console.error(error), 500))
    .then((status) => response.writeHead(status).end())
})
server.listen(Number(PORT), () => console.log(`listening on port ${(server.address() as AddressInfo).port}`))
