import { makeToken } from '../../contract/token-format.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { addToken } from '../../db/tokens.ts'
import { createWorkspace } from '../../db/workspaces/workspaces.ts'

/** Makes workspaces, and returns a token of each. */
export const makeWorkspaces = async (sql: Sql, count: number): Promise<string[]> => {
  const tokens = Array.from({ length: count }, makeToken)
  for (const [place, token] of tokens.entries()) {
    const workspace = `bench ${place}`
    await createWorkspace(sql, workspace)
    await addToken(sql, { token, workspace, scopes: ['submit'], expiresAt: null })
  }
  return tokens
}
