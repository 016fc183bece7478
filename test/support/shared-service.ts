import { randomBytes } from 'node:crypto'
import { connectPostgres, type Sql } from '../../db/connection/postgres.ts'
import { ownWorkspace } from './own-workspace.ts'
import { testServers } from './servers.ts'
import { requestsTo, type Service, startService } from './service.ts'

/** A service that other tests use as well, without the means to end its processes. */
export type SharedService = Omit<Service, 'apiPids' | 'workerPids'> & {
  /** The name of the workspace. */
  readonly workspace: string
  readonly readToken: string
  /** Sees all workspaces, and may write. */
  readonly all: Sql
}

/**
 * The test files of a process run one after the other. So a test may pause queues or rename a
 * table, if it undoes the change. Deno runs each file in its own process, with its own services.
 */
const SERVICES = {
  working: {
    apis: 2,
    environment: {
      CONVERSATIONS_PER_MINUTE: '1000000',
      AGENT_CALLS_PER_MINUTE: '1000000',
      WEBHOOK_ALLOWED_HOSTS: '127.0.0.1',
    },
  },
  idle: { apis: 2, workers: 0, environment: { SUBMISSIONS_PER_MINUTE: '100000' } },
  operated: { environment: { LOG_LEVEL: 'debug' } },
} as const

const started = new Map<keyof typeof SERVICES, Promise<Service>>()

/**
 * A new workspace in a service that all files of a run share. `sql` sees no rows of other
 * workspaces, and cannot write. The service ends with the run.
 */
export const sharedService = (): Promise<SharedService> => shareOf('working')

/**
 * A new workspace in a shared service without a worker. It has the default limit on conversations,
 * and a high limit on other submissions.
 */
export const idleService = (): Promise<SharedService> => shareOf('idle')

/** The working service itself, with the tokens of its first workspace. */
export const workingService = (): Promise<Service> => shareWhole('working')

/**
 * A service with one workspace, for tests of pages about the whole service. A test must leave no
 * submission waiting or dead, and no job failed.
 */
export const operatedService = (): Promise<Service> => shareWhole('operated')

const shareWhole = async (kind: keyof typeof SERVICES): Promise<Service> => ({
  ...(await startOnce(kind)),
  stop: async () => {},
})

const startOnce = (kind: keyof typeof SERVICES): Promise<Service> => {
  const starting = started.get(kind) ?? startService(SERVICES[kind])
  started.set(kind, starting)
  return starting
}

const shareOf = async (kind: 'working' | 'idle'): Promise<SharedService> => {
  const service = await startOnce(kind)
  const workspace = `w_${randomBytes(6).toString('hex')}`
  const own = await ownWorkspace(service, workspace)
  const sql = await openWorkspace(service, { schema: workspace, workspaceId: own.workspaceId })
  const requests = requestsTo(service.urls, own.accessToken, sql)
  return { ...own, ...requests, workspace, sql, all: service.sql, stop: () => sql.end({ timeout: 5 }) }
}

/** Connects with two schemas: views that leave out other workspaces, then the service's schema. */
const openWorkspace = async (
  service: Service,
  { schema, workspaceId }: { schema: string; workspaceId: string },
): Promise<Sql> => {
  const main = service.redisPrefix
  const tables = await service.sql<{ name: string; key: string }[]>`
    select table_name as name, column_name as key from information_schema.columns
    where table_schema = ${main} and (column_name = 'workspace_id'
      or (table_name, column_name) in (('workspace', 'id'), ('deleted_workspace', 'id')))`
  const views = tables.map(
    ({ name, key }) =>
      `create view "${schema}".${name} as select * from "${main}".${name} where ${key} = '${workspaceId}'`,
  )
  await service.sql.unsafe([`create schema "${schema}"`, ...views].join(';\n'))
  return connectPostgres(testServers().databaseUrl, {
    connections: 2,
    statementTimeoutMs: 30_000,
    applicationName: 'feedback-insights-test',
    schema: `${schema}, ${main}`,
    isReadOnly: true,
  })
}
