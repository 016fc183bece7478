import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readTableColumns } from '../../db/backup/backup-tables.ts'
import { readRows } from '../../db/backup/read-rows.ts'
import { readPurgedKeys } from '../../db/purges/purge-replay.ts'
import { readFunctions } from '../../db/schema/functions.ts'
import { readApplied } from '../../db/schema/migrate.ts'
import { listWorkspaceIds } from '../../db/workspaces/workspaces.ts'
import { createLog } from '../../queue/log/log.ts'
import { OWNER_ONLY } from '../option-values.ts'
import type { CommandContext } from '../run-command.ts'
import { createLinesFile, FILES, manifestText, rowsFile, TABLES_FOLDER, type WrittenFile } from './backup-folder.ts'

type BackupCounts = { rows: number; waiting: number; purgedKeys: number }

/**
 * Writes all files of a backup into an empty folder, the manifest last. Submissions move from Redis
 * to Postgres, so the waiting ones are read before the moment of the rows: a submission that is
 * applied in between is in both, and none is in neither. The purged keys are read after that moment,
 * so a restore repeats the purges of the time of the backup.
 */
export const writeBackup = async (context: CommandContext, folder: string): Promise<BackupCounts> => {
  const { sql } = context
  const key = await context.readHashKey()
  await writeFile(join(folder, FILES.key), `${key.toString('hex')}\n`, { mode: OWNER_ONLY, flag: 'wx', flush: true })
  const takenAt = new Date().toISOString()
  const waiting = await writeLines(join(folder, FILES.waiting), waitingSubmissions(context))
  const migrations = await readApplied(sql)
  const tables = await writeTables(context, folder)
  const purges = await writeLines(join(folder, FILES.purges), asLines(readPurgedKeys(sql)))
  const text = manifestText({
    release: (await readFunctions()).version,
    takenAt,
    migrations,
    tables: tables.map(({ name, columns }) => ({ name, columns })),
    files: {
      [FILES.waiting]: waiting,
      [FILES.purges]: purges,
      ...Object.fromEntries(tables.map(({ name, written }) => [rowsFile(name), written])),
    },
  })
  await writeFile(join(folder, FILES.manifest), text, { mode: OWNER_ONLY, flag: 'wx', flush: true })
  const rows = tables.reduce((sum, { written }) => sum + written.lines, 0)
  return { rows, waiting: waiting.lines, purgedKeys: purges.lines }
}

const waitingSubmissions = async function* ({ sql, openRedis }: CommandContext): AsyncGenerator<string> {
  const { redis, prefix } = await openRedis()
  const log = createLog(redis, prefix)
  for (const id of await listWorkspaceIds(sql)) yield* asLines(log.readWaiting(id))
}

const asLines = async function* (items: AsyncIterable<object>): AsyncGenerator<string> {
  for await (const item of items) yield JSON.stringify(item)
}

const writeLines = async (path: string, lines: AsyncIterable<string>): Promise<WrittenFile> => {
  const file = await createLinesFile(path)
  for await (const line of lines) await file.write([line])
  return file.end()
}

type WrittenTable = { name: string; columns: string[]; written: WrittenFile }

const writeTables = async ({ sql }: CommandContext, folder: string): Promise<WrittenTable[]> => {
  await mkdir(join(folder, TABLES_FOLDER))
  const tables = await readTableColumns(sql)
  const files = new Map<string, Awaited<ReturnType<typeof createLinesFile>>>()
  for (const { name } of tables) files.set(name, await createLinesFile(join(folder, rowsFile(name))))
  for await (const rows of readRows(sql, tables)) {
    for (const [name, own] of Map.groupBy(rows, ({ table }) => table))
      await files.get(name)!.write(own.map(({ row }) => row))
  }
  const written: WrittenTable[] = []
  for (const { name, columns } of tables) written.push({ name, columns, written: await files.get(name)!.end() })
  return written
}
