import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readMigrations } from '../../db/migrate.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const MOST_BYTES = 256 * 1024 * 1024

/** `commit` is what its files are of; `migration` the name of the newest one, which it does not know. */
export type FormerVersion = { commit: string; migration: string }

/**
 * The version before the newest migration came; undefined where the history is not at hand, as in a checkout without depth.
 */
export const findFormerVersion = async (): Promise<FormerVersion | undefined> => {
  const migration = (await readMigrations()).at(-1)!.name
  const args = ['log', '--diff-filter=A', '--format=%P', '-1', '--', `db/migrations/${migration}`]
  const found = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  const [commit] = found.status === 0 ? found.stdout.trim().split(' ') : []
  if (!commit || spawnSync('git', ['cat-file', '-e', `${commit}^{tree}`], { cwd: root }).status !== 0) return undefined
  return { commit, migration }
}

/** Puts the files of a former version into a directory, where its programs run with the packages of this one. */
export const extract = ({ commit }: FormerVersion, directory: string): void => {
  mkdirSync(directory, { recursive: true })
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: MOST_BYTES })
  execFileSync('tar', ['-x', '-C', directory], { input: archive })
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
}
