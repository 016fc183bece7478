import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { probe, PROGRAM_NAMES, type RedisBinary } from './redis-program.ts'

/**
 * A Redis server from the packages of Debian or Ubuntu, unpacked below `cacheDir` without installing anything, so that it
 * needs no root and starts no service. Undefined on other systems, and where the archive cannot be reached.
 */
export const redisFromArchive = async (options: {
  cacheDir: string
  log: (line: string) => void
}): Promise<RedisBinary | undefined> => {
  const { cacheDir, log } = options
  const cached = unpackedServer(cacheDir)
  if (cached !== undefined) return cached
  if ((await run('apt-get', ['--version'])) === undefined || (await run('dpkg-deb', ['--version'])) === undefined) {
    return undefined
  }
  log('Fetching redis-server from the package archive …')
  mkdirSync(dirname(cacheDir), { recursive: true })
  // Another start may fetch at the same time: each works in its own directory, and the first to finish is kept.
  const draft = mkdtempSync(`${cacheDir}.`)
  try {
    const unpacked = join(draft, 'unpacked')
    const fetched =
      (await fetchInto(unpacked, draft, [])) || (await fetchInto(unpacked, draft, await ownPackageLists(draft)))
    if (!fetched) return undefined
    if (unpackedServer(cacheDir) === undefined) {
      rmSync(cacheDir, { recursive: true, force: true })
      renameSync(unpacked, cacheDir)
    }
    return unpackedServer(cacheDir)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

/** The server and the libraries that this machine lacks; apt knows both. */
const fetchInto = async (unpacked: string, draft: string, aptOptions: readonly string[]): Promise<boolean> => {
  for (const name of PROGRAM_NAMES) {
    rmSync(unpacked, { recursive: true, force: true })
    const packages = await missingPackages(name, aptOptions)
    if (packages.length === 0) continue
    const downloads = mkdtempSync(join(draft, 'packages.'))
    const downloaded = await run('apt-get', [...APT_OPTIONS, ...aptOptions, 'download', ...packages], downloads)
    if (downloaded === undefined) continue
    for (const file of readdirSync(downloads)) await run('dpkg-deb', ['-x', join(downloads, file), unpacked])
    if (unpackedServer(unpacked) !== undefined) return true
  }
  return false
}

/** As root, apt would hand the work to a user who cannot enter our directories. */
const APT_OPTIONS = ['-qq', '-o', 'APT::Sandbox::User=root', '-o', 'Acquire::Retries=3']

/** What apt would install, from a rehearsal that anyone may ask for. */
const missingPackages = async (name: string, aptOptions: readonly string[]): Promise<string[]> => {
  const plan = await run('apt-get', [
    ...APT_OPTIONS,
    ...aptOptions,
    '--simulate',
    '--no-install-recommends',
    'install',
    name,
  ])
  return [...(plan ?? '').matchAll(/^Inst (\S+)/gm)].flatMap(([, found]) => found ?? [])
}

/** Fresh package lists of our own: those of the system may be absent or outdated, and only root may renew them. */
const ownPackageLists = async (draft: string): Promise<readonly string[]> => {
  const lists = join(draft, 'lists')
  const cache = join(draft, 'cache')
  mkdirSync(join(lists, 'partial'), { recursive: true })
  mkdirSync(join(cache, 'archives', 'partial'), { recursive: true })
  const options = ['-o', `Dir::State::lists=${lists}`, '-o', `Dir::Cache=${cache}`]
  await run('apt-get', [...APT_OPTIONS, ...options, 'update'])
  return options
}

const unpackedServer = (root: string): RedisBinary | undefined => {
  const env = { LD_LIBRARY_PATH: libraryDirectories(root).join(':') }
  for (const name of PROGRAM_NAMES) {
    const binary = probe(join(root, 'usr', 'bin', name), env)
    if (binary !== undefined) return binary
  }
  return undefined
}

const libraryDirectories = (root: string): string[] => {
  const parents = [join(root, 'usr', 'lib'), join(root, 'lib')].filter((parent) => existsSync(parent))
  const directories = parents.flatMap((parent) =>
    readdirSync(parent, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? join(parent, entry.name) : [],
    ),
  )
  return directories.filter((directory) => readdirSync(directory).some((file) => file.includes('.so')))
}

/** The output of a program, or undefined when it fails or is not there. */
const run = (program: string, args: readonly string[], cwd = '/'): Promise<string | undefined> => {
  return new Promise((resolve) => {
    const child = spawn('env', ['LC_ALL=C', program, ...args], { cwd, stdio: ['ignore', 'pipe', 'ignore'] })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.once('error', () => resolve(undefined))
    child.once('close', (code) => resolve(code === 0 ? output : undefined))
  })
}
