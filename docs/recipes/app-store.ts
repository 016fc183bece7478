import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { type BatchItem, createClient } from 'feedback-insights-client'
import { idOf, numberOf, textOf, timeOf } from './values.ts'

// Submits the reviews of an app from the last LOOK_BACK_DAYS (30). Run it each day. A changed
// review replaces the stored review, which has the same id. Reads FEEDBACK_URL, ACCESS_TOKEN and
// APP_ID, and ISSUER_ID, KEY_ID and KEY_FILE of an API key of App Store Connect.
// https://developer.apple.com/documentation/appstoreconnectapi/get-v1-apps-_id_-customerreviews

const SOURCE = 'app-store'
const { FEEDBACK_URL = '', ACCESS_TOKEN = '', APP_ID = '', ISSUER_ID = '', KEY_ID = '', KEY_FILE = '' } = process.env
const { LOOK_BACK_DAYS = '30', APP_STORE_URL = 'https://api.appstoreconnect.apple.com' } = process.env
/** App Store Connect takes tokens of at most 20 minutes. */
const TOKEN_SECONDS = 10 * 60
const DAY_MS = 24 * 60 * 60 * 1_000

type Review = { readonly id: string; readonly attributes: Readonly<Record<string, unknown>> }
type Page = { readonly data: readonly Review[]; readonly links: { readonly next?: string } }

const main = async (): Promise<number> => {
  const client = createClient({ url: FEEDBACK_URL, token: ACCESS_TOKEN, strict: true })
  const oldest = Date.now() - Number(LOOK_BACK_DAYS) * DAY_MS
  let next: string | undefined = `/v1/apps/${APP_ID}/customerReviews?sort=-createdDate&limit=200`
  let refused = 0
  while (next !== undefined) {
    const { data, links }: Page = await fetchPage(next)
    const reviews = data.filter(({ attributes }) => !isBefore(attributes['createdDate'], oldest))
    const results = await client.submitBatch(reviews.map(itemOf))
    results.forEach(({ status, body }, at) => {
      if (status < 300) return
      refused++
      console.error(`${reviews[at]!.id}: ${status} ${JSON.stringify(body['error'])}`)
    })
    console.log(`${results.length} reviews`)
    next = reviews.length === data.length ? links.next : undefined
  }
  return refused === 0 ? 0 : 1
}

/** False for a review without a date. */
const isBefore = (date: unknown, oldest: number): boolean => Date.parse(timeOf(date) ?? '') < oldest

const itemOf = ({ id, attributes }: Review): BatchItem => {
  const nickname = idOf(attributes['reviewerNickname'])
  return {
    operation: 'create_feedback',
    body: {
      description: textOf(attributes['body']) ?? '',
      title: textOf(attributes['title']),
      rating: numberOf(attributes['rating']),
      source: SOURCE,
      sourceId: idOf(id),
      contact: nickname === undefined ? undefined : { name: nickname },
      createdAt: timeOf(attributes['createdDate']),
      sourceData: { app: APP_ID, territory: attributes['territory'] },
    },
  }
}

const fetchPage = async (address: string): Promise<Page> => {
  const url = new URL(address, APP_STORE_URL)
  // Only the App Store may get the token.
  if (url.origin !== new URL(APP_STORE_URL).origin) throw new Error('The next page has another origin')
  const headers = { Authorization: `Bearer ${await makeToken()}` }
  // A redirect could send the token to another host.
  const response = await fetch(url, { headers, redirect: 'error' })
  if (!response.ok) throw new Error(`App Store Connect answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as Page
}

/**
 * A JWT, signed with ES256.
 * https://developer.apple.com/documentation/appstoreconnectapi/generating-tokens-for-api-requests
 */
const makeToken = async (): Promise<string> => {
  const now = Math.floor(Date.now() / 1_000)
  const head = { alg: 'ES256', kid: KEY_ID, typ: 'JWT' }
  const claims = { iss: ISSUER_ID, iat: now, exp: now + TOKEN_SECONDS, aud: 'appstoreconnect-v1' }
  const signed = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const pem = readFileSync(KEY_FILE, 'utf8').replaceAll(/-----.*-----|\s/g, '')
  const curve = { name: 'ECDSA', namedCurve: 'P-256' }
  const key = await crypto.subtle.importKey('pkcs8', Buffer.from(pem, 'base64'), curve, false, ['sign'])
  const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key, Buffer.from(signed))
  return `${signed}.${Buffer.from(signature).toString('base64url')}`
}

process.exitCode = await main()
