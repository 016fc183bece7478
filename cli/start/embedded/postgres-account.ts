import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, lchownSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { copyForAll, type PostgresBinaries } from './postgres-binaries.ts'
import { SERVER_ENVIRONMENT } from './server.ts'

/** The user for PostgreSQL programs, which refuse to run as root. */
export type PostgresAccount = {
  /** Words to put before the command. */
  readonly prefix: readonly string[]
  /** Options of `spawn` to change the user, on systems without a program for it. */
  readonly spawnAs?: { readonly uid: number; readonly gid: number }
  /** The user and group id that the files of a cluster must have. Absent for the starting user. */
  readonly owner?: number
  /** The folder in which to start a program, and the path of the cluster from there. */
  readonly place: (cluster: string) => { readonly cwd: string; readonly path: string }
}

const ROOT = 0
/**
 * The unprivileged user of the system. It must have a name, since initdb looks up the name of its
 * user.
 */
const UNPRIVILEGED = process.platform === 'darwin' ? 4_294_967_294 : 65_534

const byItsPath = (cluster: string) => ({ cwd: '/', path: cluster })

const STARTING_USER: PostgresAccount = { prefix: [], place: byItsPath }

const UNPRIVILEGED_ON_LINUX: PostgresAccount = {
  prefix: [
    'setpriv',
    `--reuid=${UNPRIVILEGED}`,
    `--regid=${UNPRIVILEGED}`,
    '--clear-groups',
    '--inh-caps=-all',
    '--no-new-privs',
  ],
  owner: UNPRIVILEGED,
  // The path of the cluster may lead through a private home, which other users cannot enter. Root
  // enters the cluster before it changes the user. Then /proc/self/cwd is the cluster.
  place: (cluster) => ({ cwd: cluster, path: '/proc/self/cwd' }),
}

/** In its own user namespace, a program sees the starting user under this id. */
const AS_UNPRIVILEGED = ['unshare', '--user', `--map-user=${UNPRIVILEGED}`, `--map-group=${UNPRIVILEGED}`]

const NAMELESS_USER: PostgresAccount = { prefix: AS_UNPRIVILEGED, place: byItsPath }

/** The only user of a user namespace, under another id. */
const ONLY_USER: PostgresAccount = {
  prefix: AS_UNPRIVILEGED,
  owner: ROOT,
  place: byItsPath,
}

const UNPRIVILEGED_ELSEWHERE: PostgresAccount = {
  prefix: [],
  spawnAs: { uid: UNPRIVILEGED, gid: UNPRIVILEGED },
  owner: UNPRIVILEGED,
  place: byItsPath,
}

type Choice = { readonly account: PostgresAccount; readonly binaries: PostgresBinaries }

/**
 * Chooses the user for PostgreSQL with the data in `dataDir`, and programs that this user can run.
 * An unprivileged user takes the place of root, since an intruder in the server gets the rights of
 * its user.
 *
 * @throws when root cannot run PostgreSQL as another user, or a user without a name cannot run it
 */
export const chooseAccount = (binaries: PostgresBinaries, dataDir: string): Choice => {
  if (process.getuid?.() !== ROOT) return { account: accountForUser(binaries, dataDir), binaries }
  const account = accountForRoot()
  // Other users may enter the directory but not list it.
  if (account === UNPRIVILEGED_ELSEWHERE) chmodSync(dataDir, 0o711)
  if (canRun(account, binaries, dataDir)) return { account, binaries }
  const copy = account === UNPRIVILEGED_ON_LINUX ? copyForAll(binaries) : undefined
  if (copy !== undefined && canRun(account, copy, dataDir)) return { account, binaries: copy }
  throw new Error(
    `PostgreSQL does not run as root, and the unprivileged user ${UNPRIVILEGED} cannot run it with ${dataDir}: ` +
      'start as an ordinary user, or set DATABASE_URL to a server of your own',
  )
}

/** Containers often run with a user id that /etc/passwd lacks. */
const accountForUser = (binaries: PostgresBinaries, dataDir: string): PostgresAccount => {
  if (spawnSync('id', ['-un'], { stdio: 'ignore' }).status === 0) return STARTING_USER
  if (process.platform === 'linux' && canRun(NAMELESS_USER, binaries, dataDir)) return NAMELESS_USER
  throw new Error(
    `PostgreSQL needs a name for the user who starts it, and the user ${process.getuid?.()} has none: ` +
      'add a line for this id to /etc/passwd, start as another user, or set DATABASE_URL to a server of your own',
  )
}

const accountForRoot = (): PostgresAccount => {
  if (process.platform !== 'linux') return UNPRIVILEGED_ELSEWHERE
  return isOrdinaryOutside(readFileSync('/proc/self/uid_map', 'utf8')) ? ONLY_USER : UNPRIVILEGED_ON_LINUX
}

/**
 * Whether root is the only user of its namespace and an ordinary user outside, as with `unshare
 * --map-root-user`. Then there is no other user, and root has only the rights of the ordinary user.
 * Takes the text of `uid_map`.
 */
export const isOrdinaryOutside = (uidMap: string): boolean => {
  const [inside, outside, count, ...others] = uidMap.trim().split(/\s+/).map(Number)
  return inside === ROOT && outside !== ROOT && count === 1 && others.length === 0
}

/**
 * Rehearses initdb. The rehearsal fails if the account cannot reach `dataDir`, or if initdb does not
 * find all its files.
 */
const canRun = ({ prefix, spawnAs, place }: PostgresAccount, { initdb }: PostgresBinaries, dataDir: string) => {
  const { cwd, path } = place(dataDir)
  const rehearsal = ['sh', '-c', 'test -d "$1" && "$0" --pgdata="$1" --show', initdb, path]
  const [program = '', ...args] = [...prefix, ...rehearsal]
  return spawnSync(program, args, { env: SERVER_ENVIRONMENT, stdio: 'ignore', cwd, ...spawnAs }).status === 0
}

/**
 * Gives a cluster of an earlier start to the account. Gives the files beside the cluster to root:
 * passwords, and the id of the process that root ends. No server may run in the cluster meanwhile.
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

/** The owner of a directory stands for the owner of its content, so the directory changes last. */
const giveTree = (path: string, owner: number): void => {
  if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) giveTree(join(path, name), owner)
  lchownSync(path, owner, owner)
}
