import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readDistribution } from '../../db/schema/distribute.ts'
import { codeOf, isOfFile } from '../../runtime/fault.ts'
import { cannotWrite } from '../option-values.ts'
import { CommandError, type CommandContext, pathOfCaller, print, runCommand } from '../run-command.ts'
import { FILES } from './backup-folder.ts'
import { writeBackup } from './write-backup.ts'

const USAGE = `usage: npm run backup -- --out FOLDER

Writes a backup of the whole installation into a new folder: all tables as of one moment, the submissions that wait in
Redis, the purged keys, and the key of the hashes (${FILES.key}). Only the owner can read the files. Keep the folder as
secret as the data. API and workers may run meanwhile. An interrupted backup leaves FOLDER.part, and no FOLDER.
npm run restore reads the folder, also on another machine.`

const OWNER_ONLY_FOLDER = 0o700

const CITUS =
  'The tables are distributed with Citus, which has no common moment of all nodes. Back up the nodes as docs/operate/backups.md describes.'

/** Makes the folder of the draft. A folder that exists may belong to another backup that runs. */
const makeDraft = async (draft: string): Promise<void> => {
  try {
    await mkdir(draft, { mode: OWNER_ONLY_FOLDER })
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    throw new CommandError(
      `${draft} is the draft of another backup. If no backup runs, it was interrupted: delete the folder, and run this command again.`,
    )
  }
}

const backUp = async (context: CommandContext, out: string): Promise<void> => {
  if (existsSync(out)) throw new CommandError(`${out} exists already. Name a new folder with --out.`)
  const draft = `${out}.part`
  await makeDraft(draft)
  try {
    const { rows, waiting, purgedKeys } = await writeBackup(context, draft)
    await rename(draft, out)
    print(`${out}: ${rows} rows, ${waiting} waiting submissions, ${purgedKeys} purged keys`)
    print(`${join(out, FILES.key)} is HASH_KEY. Keep the folder as secret as the data.`)
  } catch (error) {
    await rm(draft, { recursive: true, force: true }).catch(() => {})
    throw error
  }
}

await runCommand({
  usage: USAGE,
  isReadOnly: true,
  options: ['out'],
  run: async (context) => {
    const { out } = context.values
    if (!out) throw new CommandError(USAGE)
    if ((await readDistribution(context.sql, undefined)) !== 'plain') throw new CommandError(CITUS)
    const path = pathOfCaller(out)
    await backUp(context, path).catch((error: unknown) => {
      throw isOfFile(error) || codeOf(error) === 'ENOSPC' ? cannotWrite(path, error) : error
    })
  },
})
