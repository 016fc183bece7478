import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TextFile } from './source-files.ts'

/** Every text file that is committed or that `git add` would add. */
export const readTrackedFiles = (root: string): TextFile[] => {
  // By default git refuses to let root read a clone of another user.
  const command = ['-c', 'safe.directory=*', 'ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const { status, stdout, stderr, error } = spawnSync('git', command, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`git could not list the files: ${error?.message ?? stderr}`)
  // A conflicted file is listed several times, and a deleted file until the deletion is staged.
  return [...new Set(stdout.split('\0'))]
    .filter((path) => path !== '' && existsSync(join(root, path)))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
    .filter(({ text }) => !text.includes('\0'))
}
