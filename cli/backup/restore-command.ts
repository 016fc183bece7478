import { join } from 'node:path'
import process from 'node:process'
import { migrate, readMigrations } from '../../db/schema/migrate.ts'
import { createLog } from '../../queue/log/log.ts'
import { tagShortened } from '../purge/replay-purges.ts'
import { CommandError, pathOfCaller, print, runCommand } from '../run-command.ts'
import { checkBackup, FILES, readKey } from './backup-folder.ts'
import { isIntoDataDir, openTarget } from './open-target.ts'
import { type CheckedBackup, refuseOtherTables, restoreBackup } from './restore-backup.ts'

const USAGE = `usage: npm run restore -- --from FOLDER [--purges FILE]

Restores a backup of npm run backup into an empty database: that of DATABASE_URL, or one in DATA_DIR, which npm start then
uses. Repeats the purges of the time of the backup, and with --purges those of a later purge:export. Verifies that all are
repeated. Queues the submissions that waited. Run this command while no API and no worker runs. If it is interrupted, the
database stays empty: run it again.`

type Values = Readonly<Record<string, string | undefined>>

const check = async ({ from, purges }: Values): Promise<CheckedBackup> => {
  if (!from) throw new CommandError(USAGE)
  const folder = pathOfCaller(from)
  const manifest = await checkBackup(folder)
  await refuseOtherTables(manifest)
  const later = purges === undefined ? [] : [pathOfCaller(purges)]
  return { folder, manifest, key: await readKey(folder), purges: [join(folder, FILES.purges), ...later] }
}

const whatNext = (key: string): string =>
  isIntoDataDir(process.env)
    ? 'DATA_DIR has the data and the key: run npm start.'
    : `Start API and workers with HASH_KEY from ${key}.`

let backup: CheckedBackup

await runCommand({
  usage: USAGE,
  options: ['from', 'purges'],
  // The whole backup is checked before a server starts.
  openServers: async (values) => {
    backup = await check(values)
    return openTarget(process.env, backup.key)
  },
  run: async ({ sql, openQueues }) => {
    await migrate(sql, await readMigrations())
    const { redis, prefix, queues } = await openQueues()
    const { rows, waiting, keys, contacts } = await restoreBackup(sql, createLog(redis, prefix), backup)
    print(`${rows} rows restored, ${waiting} waiting submissions queued.`)
    print(`${keys} purged keys read, ${contacts} contacts purged again, none of them left.`)
    print(`${await tagShortened(sql, queues)} conversations wait for new tags.`)
    print(`The backup has every submission that was confirmed before ${backup.manifest.takenAt}.`)
    print(whatNext(join(backup.folder, FILES.key)))
  },
})
