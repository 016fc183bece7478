import { join } from 'node:path'
import { type HashKey, hashKeyFrom } from '../../contract/identity/keys.ts'
import type { Submission } from '../../contract/submission.ts'
import { BACKUP_TABLES, readTableColumns } from '../../db/backup/backup-tables.ts'
import { putRows, removeFirstWorkspace, whyNotEmpty } from '../../db/backup/put-rows.ts'
import { inTransaction } from '../../db/connection/in-transaction.ts'
import type { Sql } from '../../db/connection/postgres.ts'
import { withoutPurged } from '../../db/purges/purge-replay.ts'
import { isMadeWith } from '../../db/schema/installation.ts'
import { readMigrations, reasonToRefuse } from '../../db/schema/migrate.ts'
import { readPositions } from '../../db/submissions/position.ts'
import { listWorkspaceIds } from '../../db/workspaces/workspaces.ts'
import type { Log } from '../../queue/log/log.ts'
import { replayPurges } from '../purge/replay-purges.ts'
import { readLines } from '../read-lines.ts'
import { CommandError } from '../run-command.ts'
import { FILES, type BackupManifest, rowsFile } from './backup-folder.ts'

/** `purges`: the files of purged keys to replay. */
export type CheckedBackup = { folder: string; manifest: BackupManifest; key: string; purges: readonly string[] }

type RestoreCounts = { rows: number; waiting: number; keys: number; contacts: number }

/**
 * Why this release cannot restore a backup: another release has made it with other tables.
 *
 * @throws CommandError
 */
export const refuseOtherTables = async (manifest: BackupManifest): Promise<void> => {
  const migrations = await readMigrations()
  const isOlder = manifest.migrations.length < migrations.length
  if (!isOlder && reasonToRefuse(migrations, manifest.migrations) === undefined) return
  throw new CommandError(
    `The backup is of release ${manifest.release}, whose tables differ. Restore it with that release${isOlder ? ', then upgrade' : ''}.`,
  )
}

/**
 * Restores a backup into a migrated, empty database: the rows, the purges since, and the waiting
 * submissions. All of it is one transaction, so an interrupted restore leaves the database empty. The
 * submissions wait in Redis before the transaction ends: after an interruption the next restore
 * appends them again, and workers apply each once.
 *
 * @throws CommandError when the database is not empty, or when the backup does not fit together
 */
export const restoreBackup = (sql: Sql, log: Log, backup: CheckedBackup): Promise<RestoreCounts> =>
  inTransaction(sql, async (transactionId) => {
    const why = await whyNotEmpty(sql)
    if (why !== undefined)
      throw new CommandError(
        `The database is in use: ${why} Restore into an empty database, or with npm start's servers into another DATA_DIR.`,
      )
    await removeFirstWorkspace(sql)
    const rows = await restoreRows({ sql, transactionId }, backup)
    const hashKey = hashKeyFrom(backup.key)
    if ((await isMadeWith(sql, hashKey)) === false)
      throw new CommandError(`${join(backup.folder, FILES.key)} is not the key of this backup.`)
    const counts = { rows, waiting: 0, keys: 0, contacts: 0 }
    for (const file of backup.purges) {
      const { keys, contacts } = await replayPurges({ sql, hashKey }, file)
      counts.keys += keys
      counts.contacts += contacts
    }
    counts.waiting = await appendWaiting({ sql, hashKey, log }, backup)
    return counts
  })

const restoreRows = async (
  into: Parameters<typeof putRows>[0],
  { folder, manifest }: CheckedBackup,
): Promise<number> => {
  const here = new Map((await readTableColumns(into.sql)).map((table) => [table.name, table]))
  const backedUp = new Map(manifest.tables.map((table) => [table.name, table]))
  let rows = 0
  for (const name of BACKUP_TABLES) {
    const [table, given] = [here.get(name), backedUp.get(name)]
    if (table === undefined || given?.columns.join() !== table.columns.join())
      throw new CommandError(`The table ${name} of the backup has other columns than here.`)
    const put = await putRows(into, table, readLines(join(folder, rowsFile(name))))
    if (put !== manifest.files[rowsFile(name)]?.lines)
      throw new CommandError(`The table ${name} has got ${put} rows, and the backup has another number.`)
    rows += put
  }
  return rows
}

type WaitingStores = { sql: Sql; hashKey: HashKey; log: Log }

/**
 * Appends the submissions that the rows do not have yet, without the contacts that were purged since.
 * Returns their number.
 */
const appendWaiting = async ({ sql, hashKey, log }: WaitingStores, { folder }: CheckedBackup): Promise<number> => {
  const positions = await readPositions(sql, await listWorkspaceIds(sql))
  let count = 0
  for await (const line of readLines(join(folder, FILES.waiting))) {
    const submission = JSON.parse(line) as Submission
    const position = positions.get(submission.workspaceId)
    if (position === undefined || submission.number <= position) continue
    const left = await withoutPurged(sql, { hashKey, workspaceId: submission.workspaceId }, submission)
    if (left === undefined) continue
    await log.append([left], position)
    count++
  }
  return count
}
