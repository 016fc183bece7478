import { randomBytes } from 'node:crypto'
import { makeToken } from '../../contract/token-format.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { addToken } from '../../db/tokens.ts'
import { createWorkspace } from '../../db/workspaces/workspaces.ts'
import { requestsTo, type Service } from './service.ts'

type Of = Pick<Service, 'workspaceId' | 'accessToken' | 'adminToken'> & ReturnType<typeof requestsTo>

/** A new workspace of a shared service, its tokens, and requests with them. */
export const ownWorkspace = async <S extends { readonly sql: Sql; readonly urls: readonly string[] }>(
  service: S,
  name = `own ${randomBytes(6).toString('hex')}`,
): Promise<Omit<S, keyof Of> & Of> => {
  const { id } = (await createWorkspace(service.sql, name))!
  const [accessToken, adminToken] = [makeToken(), makeToken()]
  await addToken(service.sql, { token: accessToken, workspace: name, scopes: ['submit'], expiresAt: null })
  await addToken(service.sql, { token: adminToken, workspace: name, scopes: ['admin'], expiresAt: null })
  return { ...service, workspaceId: id, accessToken, adminToken, ...requestsTo(service.urls, accessToken, service.sql) }
}
