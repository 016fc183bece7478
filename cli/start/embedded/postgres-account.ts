import { spawnSync } from 'node:child_process'
import { chownSync, lstatSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import type { PostgresBinaries } from './postgres-binaries.ts'
import { SERVER_ENVIRONMENT } from './server.ts'

/** How to run PostgreSQL programs, which refuse to run as root. */
export type PostgresAccount = {
  /** Words to put before the command. */
  readonly prefix: readonly string[]
  /** Options of `spawn`, where no program changes the user. */
  readonly spawnAs?: { readonly uid: number; readonly gid: number }
}

type Candidate = PostgresAccount & { readonly owner: number }

const ROOT = 0
/** The user `nobody`. initdb looks up its user's name, so an id without a name would not do. */
const NOBODY = process.platform === 'darwin' ? 4_294_967_294 : 65_534

const ROOT_CANDIDATES: readonly Candidate[] = [
  // Root under another name: the files stay root's, so this also works below a private home. Containers often forbid it.
  { prefix: ['unshare', '--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`], owner: ROOT },
  // Another user with root's right to pass private directories. Without the secure bit access(2), with which PostgreSQL looks
  // for its own files, would ignore that right.
  {
    prefix: [
      'setpriv',
      '--securebits=+no_setuid_fixup',
      `--reuid=${NOBODY}`,
      `--regid=${NOBODY}`,
      '--clear-groups',
      '--inh-caps=+dac_override',
      '--ambient-caps=+dac_override',
    ],
    owner: NOBODY,
  },
  // Another user without further rights: enough where all directories on the way are open.
  { prefix: [], spawnAs: { uid: NOBODY, gid: NOBODY }, owner: NOBODY },
]

/** Makes `dataDir` and finds a user who can run PostgreSQL in it. As root, it gives the files in it to that user. */
export const postgresAccount = ({ initdb }: PostgresBinaries, dataDir: string): PostgresAccount => {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (process.getuid?.() !== ROOT) return { prefix: [] }
  for (const candidate of ROOT_CANDIDATES) {
    giveTo(dataDir, candidate.owner)
    if (canRun(candidate, initdb, dataDir)) return candidate
  }
  throw new Error(
    `PostgreSQL does not run as root, and no other user can use ${dataDir}: start as an ordinary user, or set DATABASE_URL`,
  )
}

/** Asks initdb what it would do: it fails when it does not find everything that it needs. */
const canRun = ({ prefix, spawnAs }: Candidate, initdb: string, dataDir: string): boolean => {
  const rehearsal = ['sh', '-c', 'test -w "$1" && "$0" --pgdata="$1" --show', initdb, dataDir]
  const [program = '', ...args] = [...prefix, ...rehearsal]
  const options = { env: SERVER_ENVIRONMENT, stdio: 'ignore', cwd: '/', ...spawnAs } as const
  return spawnSync(program, args, options).status === 0
}

/** The owner of the directory tells that of its content: the content is given first, the directory last. */
const giveTo = (dataDir: string, owner: number): void => {
  if (lstatSync(dataDir).uid === owner) return
  for (const entry of readdirSync(dataDir, { withFileTypes: true })) {
    if (entry.isDirectory()) giveTree(join(dataDir, entry.name), owner)
  }
  chownSync(dataDir, owner, owner)
}

const giveTree = (path: string, owner: number): void => {
  const entry = lstatSync(path)
  if (entry.isSymbolicLink()) return
  if (entry.isDirectory()) for (const name of readdirSync(path)) giveTree(join(path, name), owner)
  chownSync(path, owner, owner)
}
