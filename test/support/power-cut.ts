import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A file system of its own, in a file that has only what was written out: what programs have told
 * it and not synced is not there.
 */
export type Disk = {
  readonly directory: string
  /** Takes what the disk has now, once. Nobody may be writing. */
  readonly cut: () => void
  /** Has, at `directory`, only what the disk had at the cut. */
  readonly comeBack: () => void
  readonly remove: () => void
}

const MEGABYTES = 1_024

/** @returns undefined where this machine does not let the test mount a file. */
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
    // The servers' own users pass through.
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
      // Whoever still has a file of it open keeps that one.
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
