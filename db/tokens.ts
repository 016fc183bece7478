import { tokenHash } from '../contract/token-format.ts'
import type { Sql } from './connection/postgres.ts'
import { DEFAULT_WORKSPACE } from './workspaces/workspaces.ts'

/**
 * - `submit`: submissions of the workspace.
 * - `read`: reads over HTTP. With `read:personal` as well, agents see personal data.
 * - `edit`: corrections of feedback.
 * - `admin`: submissions, reads, corrections and purges.
 * - `operator`: dashboard, metrics and /admin; no submissions.
 */
export const SCOPES = ['submit', 'read', 'read:personal', 'edit', 'admin', 'operator'] as const
export type Scope = (typeof SCOPES)[number]

type StoredToken = {
  id: string
  workspaceId: string | null
  workspace: string | null
  scopes: Scope[]
  createdAt: Date
  expiresAt: Date | null
  revokedAt: Date | null
  note: string | null
  /** A day such as 2026-01-31; null before the first use. */
  lastUsedOn: string | null
}

/**
 * Stores the hash of a new token and returns the token's id; undefined if the workspace does not
 * exist or is being deleted.
 */
export const addToken = async (
  sql: Sql,
  token: { token: string; workspace: string | null; scopes: readonly Scope[]; expiresAt: Date | null; note?: string },
): Promise<string | undefined> => {
  const [row] = await sql<{ id: string }[]>`
    insert into token (id, workspace_id, hash, scopes, expires_at, note)
    select gen_random_uuid(), w.id, decode(${tokenHash(token.token)}, 'hex'), ${[...token.scopes]}::text[],
      ${token.expiresAt}, ${token.note ?? null}
    from (select 1) as one left join workspace as w on w.name = ${token.workspace}
    where (w.id is not null or ${token.workspace}::text is null)
      and not exists (select from deleted_workspace as d where d.id = w.id)
    returning id`
  return row?.id
}

export const listTokens = (sql: Sql): Promise<StoredToken[]> =>
  sql<StoredToken[]>`
    select t.id, t.workspace_id as "workspaceId", w.name as workspace, t.scopes, t.created_at as "createdAt",
      t.expires_at as "expiresAt", t.revoked_at as "revokedAt",
      coalesce(t.note, case when t.bootstrap then 'bootstrap token' end) as note, t.last_used_on::text as "lastUsedOn"
    from token as t left join workspace as w on w.id = t.workspace_id
    order by w.name nulls first, t.created_at`.execute()

/** Revokes a token. Returns false if the token does not exist or is revoked already. */
export const revokeToken = async (sql: Sql, id: string): Promise<boolean> =>
  (await sql`update token set revoked_at = now() where id::text = ${id} and revoked_at is null`).count === 1

export type TokenHolder = { workspaceId: string | null; scopes: Scope[]; expiresAt: Date | null }

/**
 * The holders of tokens, by the hash of the token. Unknown, expired and revoked tokens have no
 * holder.
 */
export const findTokenHolders = async (sql: Sql, hashes: readonly string[]): Promise<Map<string, TokenHolder>> => {
  const found = await sql<(TokenHolder & { hash: string })[]>`
    select encode(t.hash, 'hex') as hash, t.workspace_id as "workspaceId", t.scopes, t.expires_at as "expiresAt"
    from unnest(${hashes as string[]}::text[]) as asked (hash) join token as t on t.hash = decode(asked.hash, 'hex')
    where t.revoked_at is null and (t.expires_at is null or t.expires_at > now())`
  return new Map(found.map(({ hash, ...holder }) => [hash, holder]))
}

/** Notes that these tokens are in use today. Writes a token at most once a day. */
export const noteTokensUsed = async (sql: Sql, hashes: readonly string[]): Promise<void> => {
  await sql`
    update token set last_used_on = current_date
    where hash in (select decode(h, 'hex') from unnest(${[...hashes]}::text[]) as u (h))
      and last_used_on is distinct from current_date`
}

/**
 * Makes the bootstrap tokens of the environment valid for the default workspace. Each token
 * replaces the earlier token of its kind. If the environment has no token of a kind, the stored
 * token stays: another process may have it. A token that was revoked by hand is valid again, and a
 * token that a command made becomes a bootstrap token. Returns the kinds whose earlier token has
 * ended.
 */
export const setBootstrapTokens = async (sql: Sql, tokens: BootstrapTokens): Promise<(keyof BootstrapTokens)[]> => {
  const kinds = (['access', 'admin'] as const).filter((kind) => tokens[kind] !== undefined)
  const wanted = kinds.map((kind) => ({ kind, hash: tokenHash(tokens[kind]!), scopes: BOOTSTRAP_SCOPES[kind] }))
  const replaced = await sql<{ kind: keyof BootstrapTokens }[]>`
    with wanted as (
      select w.kind, decode(w.hash, 'hex') as hash, w.scopes
      from jsonb_to_recordset(${sql.json(wanted)}) as w (kind text, hash text, scopes text[])
    ),
    former as (
      delete from token as t using wanted as w
      where t.bootstrap and t.scopes = w.scopes and t.hash not in (select hash from wanted)
      returning w.kind
    ),
    added as (
      insert into token (id, workspace_id, hash, scopes, bootstrap)
      select gen_random_uuid(), w.id, wanted.hash, wanted.scopes, true
      from wanted, workspace as w where w.name = ${DEFAULT_WORKSPACE}
        and not exists (select from deleted_workspace as d where d.id = w.id)
      on conflict (hash) do update set
        workspace_id = excluded.workspace_id, scopes = excluded.scopes, bootstrap = true, expires_at = null, revoked_at = null
    )
    select distinct kind from former order by kind`
  return replaced.map(({ kind }) => kind)
}

type BootstrapTokens = { access?: string; admin?: string }
const BOOTSTRAP_SCOPES = { access: ['submit'], admin: ['admin', 'operator'] }
