import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readMigrations } from '../../db/migrate.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const MOST_BYTES = 256 * 1024 * 1024

/** `commit` is what its files are of. */
export type FormerVersion = { commit: string }

/** The commit that last did this to a path, and the one before it; undefined where the history is not at hand. */
const findChange = (path: string, ...what: string[]): { at: number; before: string } | undefined => {
  const args = ['log', '-1', '--format=%ct %P', ...what, '--', path]
  const found = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  const [at, before] = found.status === 0 ? found.stdout.trim().split(' ') : []
  return at && before ? { at: Number(at), before } : undefined
}

const isAtHand = (commit: string): boolean =>
  spawnSync('git', ['cat-file', '-e', `${commit}^{tree}`], { cwd: root }).status === 0

/**
 * The version before the newest edition of the functions, or before the newest migration if that came later; undefined where
 * the history is not at hand, as in a checkout without depth.
 */
export const findFormerVersion = async (): Promise<FormerVersion | undefined> => {
  const [newest] = (await readMigrations()).at(-1)!.name.split(', ')
  const edition = findChange('db/functions/edition.json', '-G"edition":')
  const migration = findChange(`db/migrations/${newest}`, '--diff-filter=A')
  if (edition === undefined || migration === undefined) return undefined
  const commit = (edition.at < migration.at ? migration : edition).before
  return isAtHand(commit) ? { commit } : undefined
}

/** The last version that had its functions in migrations: 21 of them, which the baseline takes the place of. */
export const findVersionBeforeBaseline = (): FormerVersion | undefined => {
  const commit = findChange('db/functions/edition.json', '--diff-filter=A')?.before
  return commit !== undefined && isAtHand(commit) ? { commit } : undefined
}

/** Puts the files of a former version into a directory, where its programs run with the packages of this one. */
export const extract = ({ commit }: FormerVersion, directory: string): void => {
  mkdirSync(directory, { recursive: true })
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: MOST_BYTES })
  execFileSync('tar', ['-x', '-C', directory], { input: archive })
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
}

/** The file that `npm run …` starts in a version, which may have it elsewhere than this one. */
export const programOf = (directory: string, script: string): string => {
  const { scripts } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
  const [file] = /[\w/-]+\.ts$/.exec(scripts[script]) ?? []
  if (file === undefined) throw new Error(`npm run ${script} starts no file`)
  return join(directory, file)
}
