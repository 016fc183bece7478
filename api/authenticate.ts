import { TOKEN_REMEMBERED_MS, TOKEN_USABLE_WITHOUT_POSTGRES_MS } from '../contract/limits.ts'
import { isPlausibleToken, tokenHash } from '../contract/token-format.ts'
import type { Scope, TokenHolder } from '../db/tokens.ts'
import { coalesce } from '../runtime/coalesce.ts'
import type { Span } from '../runtime/tracing.ts'
import { withinTime } from '../runtime/within-time.ts'
import { isRefusal, type Needs, type Refusal, whyPostgres } from './http/refusal.ts'

/** The most valid tokens, and the most unknown tokens, that the process remembers. */
const MAX_REMEMBERED_TOKENS = 20_000
/**
 * The most further tokens that a look-up asks for: tokens in use whose remembered answer is soon
 * too old. So a thousand tokens do not need a thousand look-ups.
 */
const TAKEN_ALONG = 1_000
const TAKEN_ALONG_FROM_MS = TOKEN_REMEMBERED_MS / 2
/** Two at a time, since the connection of one can hang. */
const LOOK_UPS = { items: TAKEN_ALONG, concurrency: 2 }
/** A request with a remembered token does not wait longer for a look-up, since Postgres may hang. */
const REMEMBERED_AFTER_MS = 750

/**
 * `now` judges the expiry of a token. `steadily` measures the age of an answer from Postgres, since
 * the clock of a machine can be set back.
 */
type Clocks = { readonly now: () => number; readonly steadily: () => number }

/**
 * `answeredAt`: when Postgres answered. `askedAt`: the same, or the end of a later look-up that
 * failed.
 */
type Remembered = { holder: TokenHolder | undefined; answeredAt: number; askedAt: number }

/** A token, or the hash of one that has been shown before. */
export type Credential = string | { readonly hash: string }

export type Authenticate = (given: Credential | undefined) => Promise<TokenHolder | Refusal>

type FindHolders = (hashes: readonly string[]) => Promise<ReadonlyMap<string, TokenHolder>>

/**
 * Finds the holder of a bearer token through `find` and remembers the answer, even that a token is
 * unknown. Simultaneous requests share a look-up.
 */
export const createAuthenticate = (find: FindHolders, { now, steadily }: Clocks): Authenticate => {
  const tokens = rememberTokens(find, steadily)
  const asked = new Map<string, Promise<TokenHolder | Refusal>>()

  const lookUp = async (hash: string): Promise<TokenHolder | Refusal> => {
    const found = tokens.find(hash)
    try {
      return holderOrRefusal(await (tokens.usable(hash) ? withinTime(found, REMEMBERED_AFTER_MS) : found), now())
    } catch (error) {
      const known = tokens.usable(hash)
      if (!known) return { refused: 'unavailable', why: whyPostgres(error) }
      // Postpones the next look-up: otherwise every request would wait while Postgres hangs.
      known.askedAt = steadily()
      return holderOrRefusal(known.holder, now())
    } finally {
      asked.delete(hash)
    }
  }

  return async (given) => {
    if (given === undefined) return { refused: 'unauthenticated' }
    const hash = typeof given === 'string' ? tokenHash(given) : given.hash
    const known = tokens.recall(hash)
    if (known) return holderOrRefusal(known.holder, now())
    if (typeof given === 'string' && !isPlausibleToken(given)) return { refused: 'unauthenticated' }
    const pending = asked.get(hash) ?? lookUp(hash)
    asked.set(hash, pending)
    return pending
  }
}

/** The answers of Postgres about tokens, by the hash of the token. */
const rememberTokens = (find: FindHolders, steadily: Clocks['steadily']) => {
  // Apart, since a client can invent tokens: they must push no valid token out.
  const valid = new Map<string, Remembered>()
  const unknown = new Map<string, Remembered>()
  const soonDue = new Set<string>()

  const remember = (hash: string, holder: TokenHolder | undefined): void => {
    valid.delete(hash)
    unknown.delete(hash)
    const tokens = holder ? valid : unknown
    tokens.set(hash, { holder, answeredAt: steadily(), askedAt: steadily() })
    if (tokens.size > MAX_REMEMBERED_TOKENS) tokens.delete(tokens.keys().next().value!)
  }

  return {
    recall: (hash: string): Remembered | undefined => {
      const known = valid.get(hash) ?? unknown.get(hash)
      const age = known ? steadily() - known.askedAt : Infinity
      if (age >= TOKEN_REMEMBERED_MS) return undefined
      if (age >= TAKEN_ALONG_FROM_MS) soonDue.add(hash)
      return known
    },
    find: coalesce(async (hashes: readonly string[]) => {
      const along = [...soonDue].slice(0, TAKEN_ALONG)
      const all = [...new Set([...hashes, ...along])]
      for (const hash of all) soonDue.delete(hash)
      const holders = await find(all)
      for (const hash of all) remember(hash, holders.get(hash))
      return hashes.map((hash) => holders.get(hash))
    }, LOOK_UPS),
    /** The answer about a valid token, unless it is too old to be used without Postgres. */
    usable: (hash: string): Remembered | undefined => {
      const known = valid.get(hash)
      return known && steadily() - known.answeredAt < TOKEN_USABLE_WITHOUT_POSTGRES_MS ? known : undefined
    },
  }
}

const holderOrRefusal = (holder: TokenHolder | undefined, now: number): TokenHolder | Refusal =>
  holder && (holder.expiresAt === null || holder.expiresAt.getTime() > now) ? holder : { refused: 'unauthenticated' }

/**
 * RFC 6750 allows fewer characters, but a token from the environment may have any visible one. A
 * second header `Authorization` adds a space, which no token has.
 */
const BEARER = /^bearer +([\x21-\x7e]+)[ \t]*$/i

/** The token of a header `Authorization: Bearer TOKEN`; undefined if the header is malformed. */
export const bearerToken = (authorization: string): string | undefined => BEARER.exec(authorization)?.[1]

/**
 * The token that the bearer plugin has cut from the header, if the header is well-formed. The plugin
 * knows only the spelling `Bearer` of the scheme, and cuts after seven characters of any kind.
 * Without a bearer it takes a token from the query, which would end up in logs.
 */
export const checkedToken = (authorization: string, cut: string | undefined): string | undefined => {
  const token = bearerToken(authorization)
  return token !== undefined && authorization.startsWith('Bearer') ? cut?.trim() : token
}

/** The workspace that the token of a request belongs to. */
export type Caller = { workspaceId: string }

/**
 * The caller, if the token has the scope that the operation needs; an admin token may submit and
 * read as well.
 */
export const callerOf = async (
  authenticate: Authenticate,
  { token, span }: { token: Credential | undefined; span: Span | undefined },
  needs: Needs,
): Promise<(Caller & { scopes: readonly Scope[] }) | Refusal> => {
  const holder = await authenticate(token)
  if (isRefusal(holder)) return holder
  const { scopes, workspaceId } = holder
  const suffices = scopes.includes('admin') || scopes.includes(needs)
  if (!suffices || workspaceId === null) return { refused: 'forbidden', needs }
  span?.set({ 'feedback_insights.workspace.id': workspaceId })
  return { workspaceId, scopes }
}
