import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { describeFault } from '../../runtime/fault.ts'
import { OWNER_ONLY } from '../option-values.ts'
import { CommandError } from '../run-command.ts'

/** The files of a backup, beside the rows of its tables. */
export const FILES = {
  manifest: 'backup.json',
  key: 'hash.key',
  waiting: 'waiting.ndjson',
  purges: 'purged-keys.ndjson',
}

export const TABLES_FOLDER = 'tables'
export const rowsFile = (table: string): string => `${TABLES_FOLDER}/${table}.ndjson`

const FORMAT = 1
const CHARACTERS_AT_ONCE = 1_000_000

const whole = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const writtenFile = v.object({ bytes: whole, lines: whole, sha256: v.string() })

/** The size and hash of a file, by which a restore recognises a damaged file. */
export type WrittenFile = v.InferOutput<typeof writtenFile>

/** `takenAt`: the backup has each submission that was confirmed before. */
const manifest = v.object({
  format: v.literal(FORMAT),
  release: v.string(),
  takenAt: v.string(),
  migrations: v.array(v.object({ number: whole, name: v.string(), checksum: v.string() })),
  tables: v.array(v.object({ name: v.string(), columns: v.array(v.string()) })),
  files: v.record(v.string(), writtenFile),
})
export type BackupManifest = v.InferOutput<typeof manifest>

export const manifestText = (content: Omit<BackupManifest, 'format'>): string =>
  `${JSON.stringify({ format: FORMAT, ...content }, null, 2)}\n`

/** Writes lines into a new file that only its owner can read. */
export const createLinesFile = async (path: string) => {
  const file = await open(path, 'wx', OWNER_ONLY)
  const hash = createHash('sha256')
  const written = { bytes: 0, lines: 0 }
  const append = async (text: string): Promise<void> => {
    const bytes = Buffer.from(text)
    await file.appendFile(bytes)
    hash.update(bytes)
    written.bytes += bytes.length
  }
  return {
    /** A line can have many megabytes, so few of them are copied at a time. */
    write: async (lines: readonly string[]): Promise<void> => {
      let piece = ''
      for (const line of lines) {
        piece += `${line}\n`
        if (piece.length < CHARACTERS_AT_ONCE) continue
        await append(piece)
        piece = ''
      }
      await append(piece)
      written.lines += lines.length
    },
    /** Waits until the file is on the disk. */
    end: async (): Promise<WrittenFile> => {
      await file.sync()
      await file.close()
      return { ...written, sha256: hash.digest('hex') }
    },
  }
}

/**
 * Reads the manifest of a backup, and compares all files with it.
 *
 * @throws CommandError when the folder is no whole backup
 */
export const checkBackup = async (folder: string): Promise<BackupManifest> => {
  const text = await readFile(join(folder, FILES.manifest), 'utf8').catch((error: unknown) => {
    throw new CommandError(
      `${folder} is no whole backup: ${FILES.manifest} cannot be read (${describeFault(error)}). Name a folder that npm run backup has finished.`,
    )
  })
  const read = v.safeParse(v.pipe(v.string(), v.parseJson(), manifest), text)
  if (!read.success)
    throw new CommandError(
      `${folder} has a ${FILES.manifest} in an unknown form. Use the release that made the backup.`,
    )
  for (const [name, { bytes, sha256 }] of Object.entries(read.output.files)) {
    const found = await hashOf(join(folder, name))
    if (found?.sha256 !== sha256 || found.bytes !== bytes)
      throw new CommandError(`${join(folder, name)} is missing or damaged. Use another copy of this backup.`)
  }
  return read.output
}

const hashOf = async (path: string): Promise<{ bytes: number; sha256: string } | undefined> => {
  const hash = createHash('sha256')
  let bytes = 0
  try {
    for await (const piece of createReadStream(path)) {
      hash.update(piece as Buffer)
      bytes += (piece as Buffer).length
    }
  } catch {
    return undefined
  }
  return { bytes, sha256: hash.digest('hex') }
}

/**
 * The key in a backup.
 *
 * @throws CommandError when the file is no key
 */
export const readKey = async (folder: string): Promise<string> => {
  const path = join(folder, FILES.key)
  const key = (await readFile(path, 'utf8').catch(() => '')).trim().toLowerCase()
  if (/^[0-9a-f]{64}$/.test(key)) return key
  throw new CommandError(
    `${path} has no key. The database works only with its key: take it from your store of secrets.`,
  )
}
