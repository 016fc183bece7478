import { Buffer } from 'node:buffer'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { type Change, verifyWebhook, type WebhookMessage } from 'feedback-insights-client'

const { WEBHOOK_SECRET = '', WEBHOOK_SECRET_BEFORE = '', RECORDS = 'records', PORT = '8080' } = process.env
/** The former secret stays valid while you rotate the secret. */
const secrets = [WEBHOOK_SECRET, WEBHOOK_SECRET_BEFORE].filter((secret) => secret !== '')
const MOST_BYTES = 64 * 1024 * 1024

/** The message of a request; undefined if no secret has signed it lately. */
const verified = async ({ headers }: IncomingMessage, body: string): Promise<WebhookMessage | undefined> => {
  for (const secret of secrets) {
    const message = await verifyWebhook(secret, { body, headers }).catch(() => undefined)
    if (message !== undefined) return message
  }
  return undefined
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
  const message = await verified(request, Buffer.concat(chunks).toString())
  if (message === undefined) return 401
  if (message.type !== 'webhook.test') keep(message.data)
  return 204
}

if (secrets.length === 0) throw new Error('Set WEBHOOK_SECRET to the secret that `npm run webhook -- create` printed')
mkdirSync(RECORDS, { recursive: true })
const server = createServer((request, response) => {
  void answer(request)
    .catch((error: unknown) => (console.error(error), 500))
    .then((status) => response.writeHead(status).end())
})
server.listen(Number(PORT), () => console.log(`listening on port ${(server.address() as AddressInfo).port}`))
