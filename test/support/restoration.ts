import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { runCommand } from './command.ts'
import { nothingSeen, type Seen, startLoad } from './load.ts'
import { archiveAll, restoreTo, startArchivedPostgres, takeBackup } from './postgres-archive.ts'
import { recovery } from './recovery.ts'
import { type Service, startService } from './service.ts'
import { startProcess } from './service-process.ts'
import { until } from './until.ts'

/** A service whose Postgres was restored to a point in time, with the purges since repeated, and which goes on. */
export type Restoration = {
  readonly service: Service
  /** What was confirmed before the point in time, and after it. */
  readonly before: Seen
  readonly after: Seen
  readonly restoredMs: number
  /** From the end of the service until it stored something new. */
  readonly goesOnMs: number
  readonly output: () => string
  readonly stop: () => Promise<void>
}

/** Contacts who are purged: the first before the point in time, the second after it. Everything of them has their name. */
export const PURGED = ['purgedbefore', 'purgedafter'] as const
const SUBMISSIONS = 100

const isGone = (pid: number): boolean => {
  try {
    return !process.kill(pid, 0)
  } catch {
    return true
  }
}

export const restoreUnderLoad = async (redisUrl?: string): Promise<Restoration> => {
  const running = new AsyncDisposableStack()
  try {
    const directory = mkdtempSync(join(tmpdir(), 'feedback-insights-restore-'))
    running.defer(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
    const postgres = await startArchivedPostgres(directory)
    let { server } = postgres
    running.defer(() => server.stop())
    const backup = join(directory, 'backup')
    const environment = { CONVERSATIONS_PER_MINUTE: '1000000' }
    const service = await startService({ databaseUrl: postgres.server.url, environment, ...(redisUrl && { redisUrl }) })
    running.defer(service.stop)
    const asked = { ...service, url: service.urls[0]! }
    const seenWhile = async (work: (seen: Seen) => Promise<unknown>): Promise<Seen> => {
      const load = startLoad(asked)
      try {
        await work(load.seen)
      } finally {
        await load.stop()
      }
      await recovery(asked, load.seen)
      return load.seen
    }
    const much = (seen: Seen) => until('much is accepted', () => Promise.resolve(seen.accepted.size > SUBMISSIONS))
    const say = (name: string, sourceId: string) =>
      service.submit('/feedbacks', {
        description: `${name} says`,
        sourceId,
        source: 'desk',
        contact: { email: `${name}@example.com` },
      })
    const purge = (id: string) => service.submit('/contacts/purge', { id }, { token: service.adminToken })
    const command = async (program: string, ...words: string[]): Promise<string> => {
      const { code, stdout, stderr } = await runCommand(service, program, ...words)
      assert.equal(code, 0, stderr)
      return stdout
    }

    for (const name of PURGED) {
      await service.submit('/contacts/identify', {
        id: name,
        properties: { $email: `${name}@example.com`, [name]: name },
      })
      await say(name, name)
    }
    const before = await seenWhile(async (seen) => {
      await takeBackup(postgres, backup)
      await much(seen)
    })
    await purge(PURGED[0])
    const [{ time }] = await service.sql<[{ time: string }]>`select clock_timestamp()::text as time`
    const after = await seenWhile(much)
    await purge(PURGED[1])
    const fences = join(directory, 'fences.ndjson')
    writeFileSync(fences, await command('cli/purge/export-command.ts'))
    await archiveAll(postgres)

    const pids = [...service.apiPids, ...service.workerPids]
    for (const pid of pids) process.kill(pid, 'SIGTERM')
    await until('the service has ended', () => Promise.resolve(pids.every(isGone)))
    const endedAt = performance.now()
    await postgres.server.stop()
    const {
      archive,
      server: { port },
    } = postgres
    server = await restoreTo(join(directory, 'restored'), { backup, archive, at: time, port })
    const restoredMs = performance.now() - endedAt
    await command('cli/migrate-command.ts')
    await command('cli/purge/replay-command.ts', fences)
    const api = await startProcess('api/main.ts', 'listening', { ...service.environment })
    running.defer(api.stop)
    const worker = await startProcess('worker/main.ts', 'working', { ...service.environment })
    running.defer(worker.stop)
    await recovery({ ...service, url: `http://127.0.0.1:${api.port}` }, nothingSeen())
    const goesOnMs = performance.now() - endedAt
    return {
      service,
      before,
      after,
      restoredMs,
      goesOnMs,
      output: () => api.output() + worker.output(),
      stop: () => running.disposeAsync(),
    }
  } catch (error) {
    await running.disposeAsync()
    throw error
  }
}
