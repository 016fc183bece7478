import { TOKEN_REMEMBERED_MS, TOKEN_USABLE_WITHOUT_POSTGRES_MS } from '../contract/limits.ts'
import { isPlausibleToken, tokenHash } from '../contract/token-format.ts'
import type { TokenHolder } from '../db/tokens.ts'
import type { Incoming } from './incoming.ts'
import { isRefusal, type Refusal } from './refusal.ts'

const MAX_REMEMBERED_TOKENS = 20_000

/** A token ends by the clock; how long ago Postgres was asked is measured, since clocks are set back. */
type Clocks = { readonly now: () => number; readonly steadily: () => number }

/** `askedAt`: when Postgres was asked last, whether it answered or not. */
type Remembered = { holder: TokenHolder | undefined; at: number; askedAt: number }

export type Authenticate = (token: string | undefined) => Promise<TokenHolder | Refusal>

/**
 * Finds the holder of a bearer token through `find` and remembers the answer for seconds, also that a token is unknown.
 * Requests that come with the same token at once share one look-up.
 */
export const authenticator = (
  find: (hash: string) => Promise<TokenHolder | undefined>,
  { now, steadily }: Clocks,
): Authenticate => {
  const remembered = new Map<string, Remembered>()
  const asked = new Map<string, Promise<TokenHolder | Refusal>>()

  const lookUp = async (hash: string): Promise<TokenHolder | Refusal> => {
    const known = remembered.get(hash)
    try {
      const holder = await find(hash)
      remembered.delete(hash)
      remembered.set(hash, { holder, at: steadily(), askedAt: steadily() })
      for (const oldest of remembered.keys()) {
        if (remembered.size <= MAX_REMEMBERED_TOKENS) break
        remembered.delete(oldest)
      }
      return holderOrRefusal(holder, now())
    } catch {
      if (known?.holder && steadily() - known.at < TOKEN_USABLE_WITHOUT_POSTGRES_MS) {
        // Puts the next look-up off: while Postgres hangs, not every request shall wait for it.
        known.askedAt = steadily()
        return holderOrRefusal(known.holder, now())
      }
      return { refused: 'unavailable', why: 'postgres' }
    } finally {
      asked.delete(hash)
    }
  }

  return async (token) => {
    if (token === undefined) return { refused: 'unauthenticated' }
    const hash = tokenHash(token)
    const known = remembered.get(hash)
    if (known && steadily() - known.askedAt < TOKEN_REMEMBERED_MS) return holderOrRefusal(known.holder, now())
    if (!isPlausibleToken(token)) return { refused: 'unauthenticated' }
    let pending = asked.get(hash)
    if (!pending) {
      pending = lookUp(hash)
      asked.set(hash, pending)
    }
    return pending
  }
}

const holderOrRefusal = (holder: TokenHolder | undefined, now: number): TokenHolder | Refusal =>
  holder && (holder.expiresAt === null || holder.expiresAt.getTime() > now) ? holder : { refused: 'unauthenticated' }

/**
 * The token of a header `Authorization: Bearer TOKEN`, or undefined if anything is wrong with it. RFC 6750 has fewer characters in a
 * token, but one that the environment gives may have any that is visible; a second header `Authorization` brings a space.
 */
export const bearerToken = (authorization: string): string | undefined =>
  /^bearer +([\x21-\x7e]+)[ \t]*$/i.exec(authorization)?.[1]

/** Who asks for something in a workspace. */
export type Caller = { workspaceId: string }

/** The caller, if the token permits submitting (an admin token does, too) or, for `admin`, purging. */
export const callerOf = async (
  authenticate: Authenticate,
  { token, span }: Incoming,
  needs: 'submit' | 'admin',
): Promise<Caller | Refusal> => {
  const holder = await authenticate(token)
  if (isRefusal(holder)) return holder
  const { scopes, workspaceId } = holder
  const suffices = scopes.includes('admin') || (needs === 'submit' && scopes.includes('submit'))
  if (!suffices || workspaceId === null) return { refused: 'forbidden', needs }
  span?.set({ 'feedback_insights.workspace.id': workspaceId })
  return { workspaceId }
}
