import { isPlausibleToken, tokenHash } from '../contract/token-format.ts'
import type { Scope, TokenHolder } from '../db/tokens.ts'
import type { Refusal } from './refusal.ts'

/** Whose request it is. */
export type Caller = { workspaceId: string; scopes: readonly Scope[] }

/** How long a look-up holds: a revoked token is refused after this time at the latest. */
const FRESH_MS = 5_000
/** How long a token that was valid stays usable while Postgres cannot be asked. */
const USABLE_WITHOUT_POSTGRES_MS = 60 * 60 * 1_000
const MAX_REMEMBERED_TOKENS = 20_000

/** `askedAt`: when Postgres was asked last, whether it answered or not. */
type Remembered = { holder: TokenHolder | undefined; at: number; askedAt: number }

export type Authenticate = (token: string | undefined) => Promise<TokenHolder | Refusal>

/**
 * Finds the holder of a bearer token through `find`, remembering answers for seconds, unknown tokens included. Requests that
 * ask for the same token at once share one look-up.
 */
export const authenticator = (
  find: (hash: string) => Promise<TokenHolder | undefined>,
  now: () => number,
): Authenticate => {
  const remembered = new Map<string, Remembered>()
  const asked = new Map<string, Promise<TokenHolder | Refusal>>()

  const lookUp = async (hash: string): Promise<TokenHolder | Refusal> => {
    const known = remembered.get(hash)
    try {
      const holder = await find(hash)
      remembered.delete(hash)
      remembered.set(hash, { holder, at: now(), askedAt: now() })
      for (const oldest of remembered.keys()) {
        if (remembered.size <= MAX_REMEMBERED_TOKENS) break
        remembered.delete(oldest)
      }
      return holderOrRefusal(holder, now())
    } catch {
      if (known?.holder && now() - known.at < USABLE_WITHOUT_POSTGRES_MS) {
        // Asked again later: while Postgres hangs, not every request shall wait for it.
        known.askedAt = now()
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
    if (known && now() - known.askedAt < FRESH_MS) return holderOrRefusal(known.holder, now())
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

/** The caller, when the token permits submitting (admins may) or purging. */
export const permitted = (holder: TokenHolder, needs: 'submit' | 'admin'): Caller | Refusal => {
  const suffices = holder.scopes.includes('admin') || (needs === 'submit' && holder.scopes.includes('submit'))
  if (!suffices || holder.workspaceId === null) return { refused: 'forbidden', needs }
  return { workspaceId: holder.workspaceId, scopes: holder.scopes }
}
