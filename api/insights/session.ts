import { Buffer } from 'node:buffer'
import { timingSafeEqual } from 'node:crypto'
import { type HashKey, keyedHash } from '../../contract/identity/keys.ts'
import { tokenHash } from '../../contract/token-format.ts'

// A session is a cookie: the hash of the token that a person has shown, and an end, signed with a key
// that follows from the hash key. No store has sessions. Each request looks the token up, so a session
// ends with its token.

const NAME = 'insights'
const LASTS_SECONDS = 12 * 60 * 60
const MS_PER_SECOND = 1_000

/** `value`: of the cookie. */
export type Session = { readonly hash: string; readonly value: string }

const signatureOf = (hashKey: HashKey, purpose: string, text: string): string =>
  keyedHash(hashKey, JSON.stringify(['insights', purpose, text])).toString('base64url')

const isSame = (one: string, other: string): boolean => {
  const [left, right] = [Buffer.from(one), Buffer.from(other)]
  return left.length === right.length && timingSafeEqual(left, right)
}

export const beginSession = (hashKey: HashKey, token: string, now: number): Session => {
  const hash = tokenHash(token)
  const content = `${hash}.${now + LASTS_SECONDS * MS_PER_SECOND}`
  return { hash, value: `${content}.${signatureOf(hashKey, 'session', content)}` }
}

const SESSION = /^(?<content>(?<hash>[\da-f]{64})\.(?<end>\d{1,15}))\.(?<signature>[\w-]{43})$/

/** The session of a request, if its cookie is signed and has not ended. */
export const sessionOf = (hashKey: HashKey, { headers }: Request, now: number): Session | undefined => {
  for (const pair of (headers.get('cookie') ?? '').split(';')) {
    const [, value = ''] = new RegExp(`^\\s*${NAME}=(\\S*)\\s*$`).exec(pair) ?? []
    const { content = '', hash = '', end = '', signature = '' } = SESSION.exec(value)?.groups ?? {}
    if (content === '' || Number(end) <= now) continue
    if (isSame(signature, signatureOf(hashKey, 'session', content))) return { hash, value }
  }
  return undefined
}

/**
 * The header that sets or ends the cookie of a session. It names no path, so that the browser takes the
 * folder of the address, also if a proxy has the service below a path. The browser's own origin says
 * whether it uses TLS.
 */
export const cookieOf = (request: Request, session: Session | undefined): string => {
  const isSecure = request.url.startsWith('https:') || request.headers.get('origin')?.startsWith('https:') === true
  const life = session === undefined ? 0 : LASTS_SECONDS
  return `${NAME}=${session?.value ?? ''}; HttpOnly; SameSite=Lax; Max-Age=${life}${isSecure ? '; Secure' : ''}`
}

/** The token of the forms of a session. No other site can read it. */
export const formTokenOf = (hashKey: HashKey, { value }: Session): string => signatureOf(hashKey, 'form', value)

export const isFormToken = (hashKey: HashKey, session: Session, given: string): boolean =>
  isSame(given, formTokenOf(hashKey, session))

/**
 * Whether a page of this origin sent a form. Browsers say so in one of two headers; a request without
 * either comes from no browser of today.
 */
export const isSameOrigin = ({ headers }: Request): boolean => {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin'
  const origin = headers.get('origin') ?? ''
  return URL.canParse(origin) && new URL(origin).host === headers.get('host')
}
