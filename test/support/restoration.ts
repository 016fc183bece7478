import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { startRedis } from '../../cli/start/embedded/redis-server.ts'
import { workspaceKeys } from '../../queue/keys.ts'
import { outputOf } from './command.ts'
import { untilMoreAccepted, startLoad } from './load.ts'
import { archiveAll, restoreTo, startArchivedPostgres, takeBackup } from './postgres-archive.ts'
import { requestsTo, type Service, startService } from './service.ts'
import { startProcess } from './service-process.ts'
import { startParts } from './temporary-directory.ts'

/** Contacts that are purged before and after the restored moment. No other text has their names. */
export const PURGED = { before: 'wilhelmina', after: 'bartholomew' } as const
/** A contact that is never purged. */
export const OTHER = 'konstantin'
const MORE = 60
const KEYS_OF_STRANGER = 10_001
/** More than the number of requests in flight at a purge. */
const IN_FLIGHT = 10
const CREATED_AT = '2026-01-01T00:00:00Z'

export type Served = Service & { readonly end: () => Promise<void> }

/** A service with a lost Postgres, and the files for its restore. */
export type Disaster = {
  readonly service: Service
  /** The confirmed submissions. */
  readonly confirmed: ReadonlySet<string>
  /** Stored before the restored moment, or accepted after the last purge and then stored. */
  readonly stored: Readonly<Record<'before' | 'after', ReadonlySet<string>>>
  /** Confirmed, but not stored when Postgres was lost. */
  readonly waiting: ReadonlySet<string>
  /** The last acceptance number. */
  readonly highest: number
  /** A file of the exported purges, and of purged keys of a workspace that Postgres lacks. */
  readonly purgesFile: string
  /** Restores Postgres to the moment. Each restore begins with the same backup. */
  readonly restore: () => Promise<void>
  /** Starts an API and a worker. */
  readonly serve: () => Promise<Served>
  readonly run: (program: string, ...words: string[]) => Promise<string>
  readonly stop: () => Promise<void>
}

export const storedIds = async ({ sql }: Pick<Service, 'sql'>): Promise<Set<string>> => {
  const rows = await sql<{ id: string }[]>`select id from submission where state <> 'queued'`
  return new Set(rows.map(({ id }) => id))
}

/**
 * Takes a base backup under load, goes on beyond the moment to restore, and kills Postgres. Many
 * submissions are stored after this moment, and many still wait.
 */
export const makeDisaster = (): Promise<Disaster> => {
  return startParts('restore', async (running, directory) => {
    const postgres = await startArchivedPostgres(directory)
    let { server } = postgres
    running.defer(() => server.stop())
    const redisServer = await startRedis({ dataDir: join(directory, 'redis') })
    running.defer(redisServer.stop)
    const service = await startService({
      databaseUrl: server.url,
      redisUrl: redisServer.url,
      apis: 0,
      workers: 0,
      environment: { CONVERSATIONS_PER_MINUTE: '1000000', REDO_SECONDS: '600' },
    })
    running.defer(service.stop)
    const run: Disaster['run'] = (program, ...words) => outputOf(service, program, ...words)
    const serve = async () => {
      const worker = await startProcess('worker/main.ts', 'working', { ...service.environment })
      const api = await startProcess('api/main.ts', 'listening', { ...service.environment })
      const urls = [`http://127.0.0.1:${api.port}`]
      const end = async () => {
        await api.stop()
        await worker.stop()
      }
      const output = () => api.output() + worker.output()
      return { ...service, ...requestsTo(urls, service.accessToken, service.sql), urls, output, worker, end }
    }

    const first = await serve()
    const load = startLoad(first)
    const backup = join(directory, 'backup')
    const others = new Set<string>()
    const submit = async (path: string, body: object, key?: string): Promise<void> => {
      const options = { token: service.adminToken, headers: { ...(key !== undefined && { 'Idempotency-Key': key }) } }
      others.add((await first.submit(path, body, options)).headers.get('Submission-Id')!)
    }
    for (const [index, name] of [PURGED.before, PURGED.after, OTHER].entries())
      for (const [path, body] of submissionsOf(name, index)) await submit(path, body)
    await untilMoreAccepted(load, MORE)
    await takeBackup(postgres, backup)
    await submit('/contacts/purge', { id: PURGED.before })
    await submit('/feedbacks', { description: 'kept', sourceId: 'kept' }, 'key-of-kept')
    await untilMoreAccepted(load, MORE)

    const before = await storedIds(service)
    const [{ at }] = await service.sql<[{ at: string }]>`select clock_timestamp()::text as at`
    await submit('/feedbacks', { description: 'lost', sourceId: 'lost' }, 'key-of-lost')
    await submit('/contacts/purge', { id: PURGED.after })
    const atPurge = load.seen.accepted.size
    await untilMoreAccepted(load, MORE)
    const purgesFile = join(directory, 'purged.ndjson')
    writeFileSync(purgesFile, (await run('cli/purge/export-command.ts')) + keysOfStranger().join(''))

    await first.worker.stop()
    await untilMoreAccepted(load, MORE)
    await load.stop()
    assert.deepEqual(load.seen.wrong, [])
    await first.end()
    const loaded = [...load.seen.accepted]
    const confirmed = new Set([...loaded, ...others])
    const last = await storedIds(service)
    const { state } = workspaceKeys(service.redisPrefix, service.workspaceId)
    const highest = Number(await service.redis.hget(state, 'number'))
    await archiveAll(postgres)
    process.kill(server.pid, 'SIGKILL')
    await server.exited

    let restored = 0
    return {
      service,
      confirmed,
      stored: { before, after: last.intersection(new Set(loaded.slice(atPurge + IN_FLIGHT))) },
      waiting: confirmed.difference(last),
      highest,
      purgesFile,
      restore: async () => {
        await server.stop()
        const where = { backup, archive: postgres.archive, at, port: postgres.server.port }
        server = await restoreTo(join(directory, `restored ${restored++}`), where)
      },
      serve,
      run,
    }
  })
}

/** Purged keys of a workspace that Postgres lacks: too many for one call of the replay. */
const keysOfStranger = (): string[] => {
  const workspaceId = randomUUID()
  const first = Number.MAX_SAFE_INTEGER - KEYS_OF_STRANGER
  return Array.from({ length: KEYS_OF_STRANGER }, (_, at) => {
    return `${JSON.stringify({ workspaceId, keyId: randomUUID(), epoch: 1, number: first + at })}\n`
  })
}

/** One submission of each operation except a purge. The conversation also has another contact. */
const submissionsOf = (name: string, index: number): [path: string, body: object][] => {
  const contact = { id: name, properties: { $email: `${name}@example.com`, $name: name } }
  const contacts = [contact, { id: 'another contact' }]
  const question = `${name} has a question`
  const messages = [{ id: 'm', incoming: true, contactId: name, content: question, createdAt: CREATED_AT }]
  return [
    ['/feedbacks', { description: `of ${name}`, sourceId: name, contact: { email: `${name}@example.com` } }],
    ['/contacts/identify', contact],
    ['/accounts/identify', { id: `account ${index}`, properties: { $name: 'Acme', $domain: 'acme.example' } }],
    ['/conversations', { id: `chat ${index}`, source: 'chat', createdAt: CREATED_AT, contacts, messages }],
  ]
}
