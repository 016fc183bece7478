import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A separate file system, in a file that has only synced data. */
export type Disk = {
  readonly directory: string
  /** Takes the current content of the disk, once. No program may be writing. */
  readonly cut: () => void
  /** Mounts at `directory` only the content of the disk at the cut. */
  readonly comeBack: () => void
  readonly remove: () => void
}

const MEGABYTES = 1_024

/** @returns undefined if this machine does not let the test mount a file. */
export const mountDisk = (): Disk | undefined => {
  const home = mkdtempSync(join(tmpdir(), 'feedback-insights-disk-'))
  const [directory, image, afterwards] = [join(home, 'mounted'), join(home, 'image'), join(home, 'afterwards')]
  mkdirSync(directory)
  const remove = (): void => {
    while (runs('umount', '--lazy', directory));
    rmSync(home, { recursive: true, force: true })
  }
  const isThere =
    runs('truncate', '--size', `${MEGABYTES}M`, image) &&
    runs('mkfs.ext4', '-q', image) &&
    // The users of the servers must be able to enter.
    runs('chmod', 'a+x', home) &&
    runs('mount', '-o', 'loop', image, directory)
  if (!isThere) {
    remove()
    return undefined
  }
  return {
    directory,
    cut: () => must('cp', '--sparse=always', image, afterwards),
    comeBack: () => {
      // Programs with an open file keep that file.
      must('umount', '--lazy', directory)
      must('mount', '-o', 'loop', afterwards, directory)
    },
    remove,
  }
}

const runs = (command: string, ...words: readonly string[]): boolean => spawnSync(command, words).status === 0

const must = (command: string, ...words: readonly string[]): void => {
  const { status, stderr } = spawnSync(command, words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command}: ${stderr}`)
}
