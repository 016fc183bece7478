import { randomBytes } from 'node:crypto'
import { makeToken } from '../../contract/token-format.ts'
import { connectPostgres, type Sql } from '../../db/postgres.ts'
import { addToken } from '../../db/tokens.ts'
import { createWorkspace } from '../../db/workspaces.ts'
import { testServers } from './servers.ts'
import { requestsTo, type Service, startService } from './service.ts'

/** What a test sees of a service that others use as well: nothing that would end it or change it. */
export type SharedService = Omit<Service, 'apiPids' | 'workerPids' | 'output' | 'queues'>

let started: Promise<Service> | undefined

/**
 * A workspace of its own in a service that all files of a run share. `sql` sees the rows of this
 * workspace only, so that a test asks as if it were alone; it cannot write. Deno runs each file by
 * itself and starts one for each. The service ends with the run.
 */
export const sharedService = async (): Promise<SharedService> => {
  started ??= startService({ environment: { CONVERSATIONS_PER_MINUTE: '1000000' } })
  const service = await started
  const name = `w_${randomBytes(6).toString('hex')}`
  const { id } = (await createWorkspace(service.sql, name))!
  const [accessToken, adminToken] = [makeToken(), makeToken()]
  await addToken(service.sql, { token: accessToken, workspace: name, scopes: ['submit'], expiresAt: null })
  await addToken(service.sql, { token: adminToken, workspace: name, scopes: ['admin', 'operator'], expiresAt: null })
  const sql = await openWorkspace(service, { schema: name, workspaceId: id })
  return {
    ...service,
    ...requestsTo(service.urls, accessToken, sql),
    workspaceId: id,
    accessToken,
    adminToken,
    sql,
    stop: () => sql.end({ timeout: 5 }),
  }
}

/** A schema of views that leave out other workspaces, before that of the service. */
const openWorkspace = async (
  service: Service,
  { schema, workspaceId }: { schema: string; workspaceId: string },
): Promise<Sql> => {
  const of = service.redisPrefix
  const tables = await service.sql<{ name: string; key: string }[]>`
    select table_name as name, column_name as key from information_schema.columns
    where table_schema = ${of} and (column_name = 'workspace_id' or (table_name, column_name) = ('workspace', 'id'))`
  const views = tables.map(
    ({ name, key }) =>
      `create view "${schema}".${name} as select * from "${of}".${name} where ${key} = '${workspaceId}'`,
  )
  await service.sql.unsafe([`create schema "${schema}"`, ...views].join(';\n'))
  return connectPostgres(testServers().databaseUrl, {
    connections: 2,
    statementTimeoutMs: 30_000,
    applicationName: 'feedback-insights-test',
    schema: `${schema}, ${of}`,
    isReader: true,
  })
}
