import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type RedisBinary = {
  readonly program: string
  /** Variables that the program needs, such as the path of its libraries. */
  readonly env: Readonly<Record<string, string>>
  readonly version: string
}

const PROGRAM_NAMES = ['redis-server', 'valkey-server'] as const
/**
 * The folder of a downloaded server. It is among the installed packages, and is deleted with them.
 */
const CACHE_DIR = fileURLToPath(new URL('../../../node_modules/.cache/redis', import.meta.url))

/**
 * Finds a Redis or Valkey server on this machine, or downloads one.
 *
 * @throws with a remedy if that is impossible, and when `stop` aborts
 */
export const redisBinary = async (log: (line: string) => void, stop?: AbortSignal): Promise<RedisBinary> => {
  const run = runUntil(stop)
  const found = onPath() ?? (await fromArchive(log, run)) ?? (await fromHomebrew(log, run))
  if (found !== undefined) return found
  throw new Error(
    'no Redis server is installed, and none could be downloaded: install redis-server or valkey-server, or set REDIS_URL to a server of your own',
  )
}

const onPath = (): RedisBinary | undefined => {
  for (const name of PROGRAM_NAMES) {
    const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim()
    const binary = found === '' ? undefined : probe(found, {})
    if (binary !== undefined) return binary
  }
  return undefined
}

/**
 * A Redis server from the packages of Debian or Ubuntu. They are unpacked into CACHE_DIR instead of
 * installed. This needs no root and starts no service. Undefined on other systems, and if the
 * archive or CACHE_DIR cannot be reached.
 */
const fromArchive = async (log: (line: string) => void, run: RunProgram): Promise<RedisBinary | undefined> => {
  const cached = unpackedServer(CACHE_DIR)
  if (cached !== undefined) return cached
  if ((await run('apt-get', ['--version'])) === undefined || (await run('dpkg-deb', ['--version'])) === undefined) {
    return undefined
  }
  log('Fetching redis-server from the package archive …')
  const draft = draftDirectory()
  if (draft === undefined) return undefined
  try {
    const unpacked = join(draft, 'unpacked')
    const fetch = { unpacked, draft, run }
    const fetched = (await fetchServer(fetch, [])) || (await fetchServer(fetch, await ownPackageLists(draft, run)))
    if (!fetched) return undefined
    if (unpackedServer(CACHE_DIR) === undefined) {
      rmSync(CACHE_DIR, { recursive: true, force: true })
      renameSync(unpacked, CACHE_DIR)
    }
    return unpackedServer(CACHE_DIR)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

/**
 * A new directory for this start, since another start may download at the same time. The first to
 * finish wins. Undefined if the installed packages belong to another user.
 */
const draftDirectory = (): string | undefined => {
  try {
    mkdirSync(dirname(CACHE_DIR), { recursive: true })
    return mkdtempSync(`${CACHE_DIR}.`)
  } catch {
    return undefined
  }
}

type Fetch = { readonly unpacked: string; readonly draft: string; readonly run: RunProgram }

/** Downloads and unpacks a server, and the libraries that this machine lacks. */
const fetchServer = async ({ unpacked, draft, run }: Fetch, aptOptions: readonly string[]): Promise<boolean> => {
  for (const name of PROGRAM_NAMES) {
    rmSync(unpacked, { recursive: true, force: true })
    const packages = await missingPackages(name, aptOptions, run)
    if (packages.length === 0) continue
    const downloads = mkdtempSync(join(draft, 'packages.'))
    const downloaded = await run('apt-get', [...APT_OPTIONS, ...aptOptions, 'download', ...packages], downloads)
    if (downloaded === undefined) continue
    for (const file of readdirSync(downloads)) await run('dpkg-deb', ['-x', join(downloads, file), unpacked])
    if (unpackedServer(unpacked) !== undefined) return true
  }
  return false
}

/** If root runs apt, apt would change to a user who cannot enter these directories. */
const APT_OPTIONS = ['-qq', '-o', 'APT::Sandbox::User=root', '-o', 'Acquire::Retries=3']

/** The packages that apt would install. Every user may simulate an installation. */
const missingPackages = async (name: string, aptOptions: readonly string[], run: RunProgram): Promise<string[]> => {
  const rehearsal = ['--simulate', '--no-install-recommends', 'install', name]
  const plan = await run('apt-get', [...APT_OPTIONS, ...aptOptions, ...rehearsal])
  return [...(plan ?? '').matchAll(/^Inst (\S+)/gm)].flatMap(([, found]) => found ?? [])
}

/**
 * Downloads package lists into `draft`, and returns the options with which apt uses them. The lists
 * of the system may be absent or outdated, and only root may update them.
 */
const ownPackageLists = async (draft: string, run: RunProgram): Promise<readonly string[]> => {
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

const fromHomebrew = async (log: (line: string) => void, run: RunProgram): Promise<RedisBinary | undefined> => {
  for (const brew of ['brew', '/opt/homebrew/bin/brew', '/usr/local/bin/brew']) {
    const prefix = await run(brew, ['--prefix'])
    if (prefix === undefined) continue
    log('Installing redis with Homebrew …')
    await run(brew, ['install', '--quiet', 'redis'])
    return onPath() ?? probe(join(prefix.trim(), 'bin', 'redis-server'), {})
  }
  return undefined
}

/** The program with its version; undefined if it does not run here. */
const probe = (program: string, env: Readonly<Record<string, string>>): RedisBinary | undefined => {
  // The command `env` adds these variables to the inherited environment.
  const assignments = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const answer = spawnSync('env', [...assignments, program, '--version'], { encoding: 'utf8' })
  const version = /\bv=(\d+\.\d+\.\d+)/.exec(answer.stdout ?? '')?.[1]
  return answer.status === 0 && version !== undefined ? { program, env, version } : undefined
}

/** The output of a program; undefined if it fails or does not exist. */
type RunProgram = (program: string, args: readonly string[], cwd?: string) => Promise<string | undefined>

/**
 * Runs each program in a session of its own, which Ctrl-C in the terminal does not reach. A program
 * that Ctrl-C has ended would look like a failed one, and the search would go on.
 */
const runUntil =
  (stop: AbortSignal | undefined): RunProgram =>
  (program, args, cwd = '/') =>
    new Promise((resolve, reject) => {
      const child = spawn('env', ['LC_ALL=C', program, ...args], {
        cwd,
        detached: true,
        stdio: ['ignore', 'pipe', 'ignore'],
        ...(stop && { signal: stop }),
      })
      let output = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
      child.once('error', ({ name }) => name !== 'AbortError' && resolve(undefined))
      child.once('close', (code) => {
        if (stop?.aborted) reject(stop.reason as Error)
        else resolve(code === 0 ? output : undefined)
      })
    })
