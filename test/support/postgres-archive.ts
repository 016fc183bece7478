import { execFile, spawnSync } from 'node:child_process'
import { appendFileSync, chmodSync, chownSync, copyFileSync, cpSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { copyFile, mkdir, readdir } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { postgresBinaries } from '../../cli/start/embedded/postgres-binaries.ts'
import { startPostgres } from '../../cli/start/embedded/postgres-server.ts'
import type { EmbeddedServer } from '../../cli/start/embedded/server.ts'
import { findLastingPort } from './lasting-port.ts'
import { asSuperuser, superuserUrl } from './superuser.ts'
import { until } from './until.ts'

/** A server with an archive of its WAL. */
type ArchivedPostgres = {
  readonly server: EmbeddedServer
  readonly dataDir: string
  readonly archive: string
}

/** Files of the server beside its cluster. */
const PASSWORDS = ['superuser-password', 'owner-password']
/** Files that a backup leaves out, such as the lock of the server, and the WAL (it is archived). */
const LEFT_OUT = /^(?:postmaster\.(?:pid|opts)|(?:pg_wal|pg_replslot|pg_stat_tmp)\/.*|(?:.*\/)?pgsql_tmp.*)$/

/** Starts a new server below `directory` that archives its WAL, with the command of docs/operate/backups.md. */
export const startArchivedPostgres = async (directory: string): Promise<ArchivedPostgres> => {
  const [dataDir, archive] = [join(directory, 'postgres'), join(directory, 'archive')]
  const cluster = join(dataDir, 'cluster')
  const first = await startPostgres({ dataDir, port: await findLastingPort() })
  await first.stop()
  mkdirSync(archive, { mode: 0o700 })
  letPass(directory, dataDir)
  const { uid, gid } = statSync(cluster)
  chownSync(archive, uid, gid)
  const file = join(relative(cluster, archive), '%f')
  const settings = [`archive_mode = on`, `archive_command = 'test ! -f "${file}" && cp "%p" "${file}"'`]
  appendFileSync(join(cluster, 'postgresql.auto.conf'), settings.map((line) => `${line}\n`).join(''))
  appendFileSync(join(cluster, 'pg_hba.conf'), 'host replication all 127.0.0.1/32 scram-sha-256\n')
  return { server: await startPostgres({ dataDir, port: first.port }), dataDir, archive }
}

/**
 * Takes a base backup of a running server into the new directory `backup`. Uses a `pg_basebackup`
 * of the server's version, or else SQL functions and copies of the files.
 */
export const takeBackup = (postgres: ArchivedPostgres, backup: string): Promise<void> =>
  // The SQL functions need one connection: its end would abort the backup.
  asSuperuser(postgres.dataDir, postgres.server.url, async (sql) => {
    mkdirSync(backup)
    for (const name of PASSWORDS) copyFileSync(join(postgres.dataDir, name), join(backup, name))
    const [{ major }] = await sql<[{ major: number }]>`
      select current_setting('server_version_num')::int / 10000 as major`
    const cluster = join(backup, 'cluster')
    const program = programOf(major)
    if (program !== undefined) {
      const url = superuserUrl(postgres.dataDir, postgres.server.url)
      await promisify(execFile)(program, ['--dbname', url, '--pgdata', cluster, '--checkpoint=fast'])
      return
    }
    await sql`select pg_backup_start('base', fast => true)`
    await copyCluster(join(postgres.dataDir, 'cluster'), cluster)
    const [{ label }] = await sql<[{ label: string }]>`select labelfile as label from pg_backup_stop()`
    writeFileSync(join(cluster, 'backup_label'), label)
  })

/** Ends the current segment of the WAL, and waits until the archive has it. */
export const archiveAll = ({ dataDir, server }: ArchivedPostgres): Promise<void> =>
  asSuperuser(dataDir, server.url, async (sql) => {
    const [{ segment }] = await sql<[{ segment: string }]>`select pg_walfile_name(pg_switch_wal()) as segment`
    await until(`${segment} is archived`, async () => {
      const [row] = await sql<[{ last: string | null }]>`select last_archived_wal as last from pg_stat_archiver`
      return row.last !== null && row.last >= segment
    })
  })

/** Restores a backup into the new directory `dataDir`, up to the time `at`. Starts the server. */
export const restoreTo = async (
  dataDir: string,
  { backup, archive, at, ...where }: { backup: string; archive: string; at: string; port?: number },
): Promise<EmbeddedServer> => {
  cpSync(backup, dataDir, { recursive: true })
  letPass(dirname(dataDir), dataDir)
  const cluster = join(dataDir, 'cluster')
  const settings = [
    `restore_command = 'cp "${join(relative(cluster, archive), '%f')}" "%p"'`,
    `recovery_target_time = '${at}'`,
    `recovery_target_action = 'promote'`,
    // A second restore from the same backup must not follow the timeline of the first restored
    // server.
    `recovery_target_timeline = 'current'`,
  ]
  appendFileSync(join(cluster, 'postgresql.auto.conf'), settings.map((line) => `${line}\n`).join(''))
  writeFileSync(join(cluster, 'recovery.signal'), '')
  const server = await startPostgres({ dataDir, ...where })
  await asSuperuser(dataDir, server.url, (sql) =>
    until('the restored server accepts writes', async () => {
      const [row] = await sql<[{ recovers: boolean }]>`select pg_is_in_recovery() as recovers`
      return !row.recovers
    }),
  )
  return server
}

/** A server that root starts runs as another user. This user has to reach the archive. */
const letPass = (...directories: readonly string[]): void => {
  for (const directory of directories) chmodSync(directory, 0o711)
}

/** A pg_basebackup of this version, beside the server or on the PATH. */
const programOf = (major: number): string | undefined =>
  [join(dirname(postgresBinaries().postgres), 'pg_basebackup'), 'pg_basebackup'].find((program) => {
    const { status, stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
    return status === 0 && Number(/\) (\d+)/.exec(stdout)?.[1]) === major
  })

/** Copies the files of a running server. The WAL repairs files that are torn or missing. */
const copyCluster = async (from: string, to: string, below = ''): Promise<void> => {
  await mkdir(join(to, below), { mode: 0o700 })
  for (const entry of await readdir(join(from, below), { withFileTypes: true })) {
    const path = join(below, entry.name)
    if (LEFT_OUT.test(path)) continue
    if (entry.isDirectory()) await copyCluster(from, to, path)
    else await copyFile(join(from, path), join(to, path)).catch(unlessGone)
  }
}

const unlessGone = (error: unknown): void => {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}
