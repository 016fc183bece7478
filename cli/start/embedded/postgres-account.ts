import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, lchownSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import type { PostgresBinaries } from './postgres-binaries.ts'
import { copyForAll } from './postgres-copy.ts'
import { SERVER_ENVIRONMENT } from './server.ts'

/** Who runs PostgreSQL programs, which refuse to run as root. */
export type PostgresAccount = {
  /** Words to put before the command. */
  readonly prefix: readonly string[]
  /** Options of `spawn`, where no program changes the user. */
  readonly spawnAs?: { readonly uid: number; readonly gid: number }
  /**
   * User and group id that the files of a cluster must have; absent where they are the starting
   * user's anyway.
   */
  readonly owner?: number
  /** Where a program is to be started, and by which path it finds that cluster then. */
  readonly place: (cluster: string) => { readonly cwd: string; readonly path: string }
}

const ROOT = 0
/** The user `nobody`. initdb looks up its user's name, so an id without a name would not do. */
const NOBODY = process.platform === 'darwin' ? 4_294_967_294 : 65_534

const byItsPath = (cluster: string) => ({ cwd: '/', path: cluster })

const STARTING_USER: PostgresAccount = { prefix: [], place: byItsPath }

const NOBODY_ON_LINUX: PostgresAccount = {
  prefix: ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--inh-caps=-all', '--no-new-privs'],
  owner: NOBODY,
  // The way to the cluster may lead through a private home, which no other user can pass. Root
  // enters the directory before it becomes another user, and the kernel leads this path to wherever
  // the process stands.
  place: (cluster) => ({ cwd: cluster, path: '/proc/self/cwd' }),
}

/** In a user namespace of its own, a program sees the starting user under this name. */
const AS_NOBODY = ['unshare', '--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`]

const NAMELESS_USER: PostgresAccount = { prefix: AS_NOBODY, place: byItsPath }

/** The only user of a user namespace under another name. */
const ONLY_USER: PostgresAccount = {
  prefix: AS_NOBODY,
  owner: ROOT,
  place: byItsPath,
}

const NOBODY_ELSEWHERE: PostgresAccount = {
  prefix: [],
  spawnAs: { uid: NOBODY, gid: NOBODY },
  owner: NOBODY,
  place: byItsPath,
}

type Choice = { readonly account: PostgresAccount; readonly binaries: PostgresBinaries }

/**
 * Who is to run PostgreSQL with the data in `dataDir`, and which copy of its programs: the starting
 * user, or the user nobody instead of root: an intruder in the server has the rights of its user.
 *
 * @throws when root cannot have it run by another user, and when the starting user has no name
 */
export const chooseAccount = (binaries: PostgresBinaries, dataDir: string): Choice => {
  if (process.getuid?.() !== ROOT) return { account: accountForUser(binaries, dataDir), binaries }
  const account = accountForRoot()
  // Others may pass through it and not list it.
  if (account === NOBODY_ELSEWHERE) chmodSync(dataDir, 0o711)
  if (canRun(account, binaries, dataDir)) return { account, binaries }
  const copy = account === NOBODY_ON_LINUX ? copyForAll(binaries) : undefined
  if (copy !== undefined && canRun(account, copy, dataDir)) return { account, binaries: copy }
  throw new Error(
    `PostgreSQL does not run as root, and the user nobody cannot run it with ${dataDir}: ` +
      'start as an ordinary user, or set DATABASE_URL to a server of your own',
  )
}

/** Containers often run with the id of a user that /etc/passwd does not have. */
const accountForUser = (binaries: PostgresBinaries, dataDir: string): PostgresAccount => {
  if (spawnSync('id', ['-un'], { stdio: 'ignore' }).status === 0) return STARTING_USER
  if (process.platform === 'linux' && canRun(NAMELESS_USER, binaries, dataDir)) return NAMELESS_USER
  throw new Error(
    `PostgreSQL needs a name for the user who starts it, and the user ${process.getuid?.()} has none: ` +
      'add a line for this id to /etc/passwd, start as another user, or set DATABASE_URL to a server of your own',
  )
}

const accountForRoot = (): PostgresAccount => {
  if (process.platform !== 'linux') return NOBODY_ELSEWHERE
  return isOrdinaryOutside(readFileSync('/proc/self/uid_map', 'utf8')) ? ONLY_USER : NOBODY_ON_LINUX
}

/**
 * Whether root is the only user of its namespace and an ordinary one outside, as `unshare
 * --map-root-user` makes it: then there is no other user to become, and root's rights are the
 * ordinary user's. Takes the text of `uid_map`.
 */
export const isOrdinaryOutside = (uidMap: string): boolean => {
  const [inside, outside, count, ...others] = uidMap.trim().split(/\s+/).map(Number)
  return inside === ROOT && outside !== ROOT && count === 1 && others.length === 0
}

/** Asks initdb what it would do: it fails when it does not find everything that it needs. */
const canRun = ({ prefix, spawnAs, place }: PostgresAccount, { initdb }: PostgresBinaries, dataDir: string) => {
  const { cwd, path } = place(dataDir)
  const rehearsal = ['sh', '-c', 'test -d "$1" && "$0" --pgdata="$1" --show', initdb, path]
  const [program = '', ...args] = [...prefix, ...rehearsal]
  return spawnSync(program, args, { env: SERVER_ENVIRONMENT, stdio: 'ignore', cwd, ...spawnAs }).status === 0
}

/**
 * Gives a cluster of a former start to the account. What lies beside it stays root's or becomes it:
 * passwords, and the id of the process that root ends. No server may run in it.
 */
export const giveCluster = ({ owner }: PostgresAccount, dataDir: string, cluster: string): void => {
  if (owner === undefined) return
  if (lstatSync(dataDir).uid !== ROOT) {
    const others = readdirSync(dataDir).map((name) => join(dataDir, name))
    for (const path of others) if (path !== cluster) giveTree(path, ROOT)
    lchownSync(dataDir, ROOT, ROOT)
  }
  if (existsSync(cluster) && lstatSync(cluster).uid !== owner) giveTree(cluster, owner)
}

/**
 * The owner of a directory tells that of its content: the content is given first, the directory
 * last.
 */
const giveTree = (path: string, owner: number): void => {
  if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) giveTree(join(path, name), owner)
  lchownSync(path, owner, owner)
}
