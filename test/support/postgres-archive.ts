import { spawnSync } from 'node:child_process'
import assert from 'node:assert/strict'
import { lchownSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../../cli/start/embedded/postgres-server.ts'
import type { EmbeddedServer } from '../../cli/start/embedded/server.ts'
import { connectPostgres, type Sql } from '../../db/postgres.ts'
import { superuserUrl } from './superuser.ts'
import { until } from './until.ts'

export type ArchivedPostgres = {
  readonly url: string
  /** A base backup in the way of pg_backup_start and pg_backup_stop, which pg_basebackup takes as well: the npm package has no pg_basebackup. */
  readonly takeBackup: () => Promise<void>
  /** Waits until all that was written is in the archive. */
  readonly isArchived: () => Promise<unknown>
  /** Ends the server, throws its data away, and has the backup and the archive be what they were at a time; on the same port. */
  readonly restoreTo: (time: string) => Promise<void>
  readonly stop: () => Promise<void>
}

const STATEMENT_TIMEOUT_MS = 20_000
/** Below the cluster, which the server's account can reach whatever directories lead there. */
const ARCHIVE = 'archive'

/** With their owners. */
const copy = (from: string, to: string): void => assert.equal(spawnSync('cp', ['-a', from, to]).status, 0)

/** A Postgres that archives its write-ahead log. */
export const startArchivedPostgres = async (): Promise<ArchivedPostgres> => {
  const directory = mkdtempSync(join(tmpdir(), 'feedback-insights-archive-'))
  const [dataDir, backup, archived] = ['postgres', 'backup', 'archived'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ]
  const cluster = join(dataDir, 'cluster')
  const archive = join(cluster, ARCHIVE)
  const settings = ['archive_mode=on', `archive_command=test ! -f ${ARCHIVE}/%f && cp %p ${ARCHIVE}/%f`]
  const remove = (): void => rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  let server: EmbeddedServer
  let superuser: Sql
  const start = async (further: readonly string[] = []): Promise<void> => {
    const port = server === undefined ? {} : { port: server.port }
    server = await startPostgres({ dataDir, settings: [...settings, ...further], ...port })
    superuser = connectPostgres(superuserUrl(dataDir, server.url), {
      connections: 1,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      applicationName: 'test',
    })
  }
  const end = async (): Promise<void> => {
    await superuser.end({ timeout: 1 })
    await server.stop()
  }
  /** To the server's account. */
  const give = (path: string): void => {
    const { uid, gid } = lstatSync(cluster)
    lchownSync(path, uid, gid)
  }
  try {
    await start()
    mkdirSync(archive)
    give(archive)
    return {
      url: server!.url,
      takeBackup: async () => {
        await superuser`select pg_backup_start('test', true)`
        copy(cluster, backup)
        const [{ label }] = await superuser<[{ label: string }]>`select labelfile as label from pg_backup_stop()`
        for (const name of readdirSync(join(backup, 'pg_wal'))) {
          if (/^[0-9A-F]{24}/.test(name)) rmSync(join(backup, 'pg_wal', name))
        }
        rmSync(join(backup, 'postmaster.pid'))
        rmSync(join(backup, ARCHIVE), { recursive: true })
        writeFileSync(join(backup, 'backup_label'), label)
        give(join(backup, 'backup_label'))
      },
      isArchived: async () => {
        const [{ name }] = await superuser<[{ name: string }]>`select pg_walfile_name(pg_switch_wal()) as name`
        await until('the log is archived', async () => {
          const [row] = await superuser<
            [{ last: string | null }]
          >`select last_archived_wal as last from pg_stat_archiver`
          return row.last !== null && row.last >= name
        })
      },
      restoreTo: async (time) => {
        await end()
        copy(archive, archived)
        rmSync(cluster, { recursive: true })
        copy(backup, cluster)
        copy(archived, archive)
        writeFileSync(join(cluster, 'recovery.signal'), '')
        give(join(cluster, 'recovery.signal'))
        await start([
          `restore_command=cp ${ARCHIVE}/%f %p`,
          `recovery_target_time=${time}`,
          'recovery_target_action=promote',
        ])
        await until('the restored server takes writes', async () => {
          const [row] = await superuser<[{ is: boolean }]>`select pg_is_in_recovery() as is`
          return !row.is
        })
      },
      stop: async () => {
        await end()
        remove()
      },
    }
  } catch (error) {
    remove()
    throw error
  }
}
