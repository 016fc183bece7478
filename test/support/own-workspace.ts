import { randomBytes } from 'node:crypto'
import { makeToken } from '../../contract/token-format.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { addToken, type Scope } from '../../db/tokens.ts'
import { createWorkspace } from '../../db/workspaces/workspaces.ts'
import { requestsTo, type Service } from './service.ts'

export type OwnWorkspace = Pick<Service, 'workspaceId' | 'accessToken' | 'adminToken'> & {
  readonly readToken: string
} & ReturnType<typeof requestsTo>

/** A new workspace of a service, its tokens, and requests with its access token. */
export const ownWorkspace = async <S extends { readonly sql: Sql; readonly urls: readonly string[] }>(
  service: S,
  name = `own ${randomBytes(6).toString('hex')}`,
): Promise<Omit<S, keyof OwnWorkspace> & OwnWorkspace> => {
  const { id } = (await createWorkspace(service.sql, name))!
  const tokenWith = async (...scopes: Scope[]): Promise<string> => {
    const token = makeToken()
    await addToken(service.sql, { token, workspace: name, scopes, expiresAt: null })
    return token
  }
  const accessToken = await tokenWith('submit')
  const tokens = { accessToken, readToken: await tokenWith('read'), adminToken: await tokenWith('admin', 'operator') }
  return { ...service, workspaceId: id, ...tokens, ...requestsTo(service.urls, accessToken, service.sql) }
}
