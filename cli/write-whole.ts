import { rmSync } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import { constants } from 'node:os'
import process from 'node:process'
import { OWNER_ONLY } from './option-values.ts'
import { CommandError } from './run-command.ts'

const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const

/**
 * Writes a file with data of customers as a whole. `write` fills a draft, FILE.part, which then
 * takes the place of the file. The draft is a new file that only its owner may read: an existing
 * one could be a link, or readable by others. A command that fails or is stopped removes the draft.
 * A killed command leaves it, and the next command for the same file removes it: no draft is ever
 * continued, since a purge may have removed what it has.
 */
export const writeWhole = async (path: string, write: (draft: string) => Promise<void>): Promise<void> => {
  const draft = `${path}.part`
  const removeDraft = (): void => rmSync(draft, { force: true })
  const stop = (signal: (typeof SIGNALS)[number]): void => process.exit(128 + constants.signals[signal])
  await rm(draft, { force: true })
  const file = await open(draft, 'wx', OWNER_ONLY)
  process.once('exit', removeDraft)
  for (const signal of SIGNALS) process.once(signal, stop)
  try {
    await write(draft)
    // Another command for the same file would have replaced the draft.
    if ((await stat(draft)).ino !== (await file.stat()).ino)
      throw new CommandError(`Another command writes ${path}. Wait for it, or name another file with --out.`)
    await rename(draft, path)
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop)
    process.off('exit', removeDraft)
    await file.close()
    await rm(draft, { force: true })
  }
}
