import { existsSync, lchownSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { keptPassword, newPassword } from './kept-secrets.ts'
import { giveCluster, type PostgresAccount } from './postgres-account.ts'
import type { PostgresBinaries } from './postgres-binaries.ts'
import { SERVER_ENVIRONMENT } from './server.ts'
import { runToEnd } from './start-process.ts'

const POSTGRES_SUPERUSER = 'postgres'
export const POSTGRES_OWNER = 'feedback_insights'
export const POSTGRES_DATABASE = 'feedback_insights'

type PostgresPasswords = { readonly superuser: string; readonly owner: string }

const DATABASE_EXISTS = /database "\w+" already exists/

/** Every connection needs a password. There is no line for `local`, since there is no socket. */
const HOST_BASED_ACCESS = 'host all all 127.0.0.1/32 scram-sha-256\n'

type ClusterOptions = {
  readonly dataDir: string
  readonly binaries: PostgresBinaries
  readonly account: PostgresAccount
  readonly log?: ((line: string) => void) | undefined
}
type Prepared = { readonly cluster: string; readonly passwords: PostgresPasswords }

/**
 * The database cluster below `dataDir` and its passwords. The first call makes the cluster. A call
 * that finds no file of a password makes and sets a new password. Every call gives the cluster to
 * the account.
 */
export const ensureCluster = async (options: ClusterOptions): Promise<Prepared> => {
  const { account, dataDir } = options
  const cluster = join(dataDir, 'cluster')
  const files = { superuser: 'superuser-password', owner: 'owner-password' }
  const isKept = (name: string): boolean => existsSync(join(dataDir, name))
  const mustPrepare = !Object.values(files).every(isKept)
  const passwordIn = (name: string): string => (isKept(name) ? keptPassword(dataDir, name) : newPassword())
  const passwords = { superuser: passwordIn(files.superuser), owner: passwordIn(files.owner) }
  giveCluster(account, dataDir, cluster)
  if (!existsSync(cluster)) await createCluster({ ...options, cluster, passwords })
  else if (mustPrepare) await prepare({ ...options, cluster, passwords })
  // Stores the passwords after the cluster has them: if a call ends in between, the next call sets
  // new passwords.
  keptPassword(dataDir, files.superuser, passwords.superuser)
  keptPassword(dataDir, files.owner, passwords.owner)
  return { cluster, passwords }
}

/**
 * Makes the cluster under another name first, so that a killed start leaves no cluster that looks
 * finished.
 */
const createCluster = async (options: ClusterOptions & Prepared): Promise<void> => {
  options.log?.('Making the PostgreSQL database …')
  const draft = `${options.cluster}.draft`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { mode: 0o700 })
  giveTo(options.account, draft)
  await run({ ...options, cluster: draft }, (path) => [
    options.binaries.initdb,
    `--pgdata=${path}`,
    `--username=${POSTGRES_SUPERUSER}`,
    // `prepare` replaces this setting with `HOST_BASED_ACCESS`. A password for initdb would have to
    // be in a file, which the account may not be able to read.
    '--auth=trust',
    '--encoding=UTF8',
    '--locale=C',
    // This locale knows upper and lower case of all letters, and is the same on every machine.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
  ])
  await prepare({ ...options, cluster: draft })
  renameSync(draft, options.cluster)
}

const prepare = async (options: ClusterOptions & Prepared): Promise<void> => {
  forgetDeadPostmaster(options.account, options.cluster)
  replaceFile(options.account, join(options.cluster, 'pg_hba.conf'), HOST_BASED_ACCESS)
  await runStatements(options, rolesAndDatabase(options.passwords))
}

/**
 * Statements that make the database and its owner. Beyond its own database, the owner may only
 * create roles, for `npm run reader`, and see the sessions of all roles, for `npm run purge:verify`
 * and for reports about blockers. The text is for single-user mode, and can be repeated.
 */
const rolesAndDatabase = ({ superuser, owner }: PostgresPasswords): readonly string[] => [
  `alter role ${POSTGRES_SUPERUSER} password '${superuser}'`,
  `do $$ begin
    if to_regrole('${POSTGRES_OWNER}') is null then create role ${POSTGRES_OWNER}; end if;
  end $$`,
  `alter role ${POSTGRES_OWNER}
    login nosuperuser createrole nocreatedb noreplication nobypassrls password '${owner}'`,
  `grant pg_read_all_stats to ${POSTGRES_OWNER}`,
  `create database ${POSTGRES_DATABASE} owner ${POSTGRES_OWNER}`,
]

/**
 * Runs statements as the superuser, while no server runs.
 *
 * @throws with the errors of the statements, but without the statements
 */
const runStatements = async (options: ClusterOptions & Prepared, statements: readonly string[]): Promise<void> => {
  const output = await run(
    options,
    (path) => [
      options.binaries.postgres,
      '--single',
      // With this option, a semicolon and an empty line end a statement, instead of any line break.
      '-j',
      '-D',
      path,
      '-c',
      'log_min_messages=error',
      '-c',
      'log_min_error_statement=panic',
      'postgres',
    ],
    statements.map((statement) => `${statement};\n\n`).join(''),
  )
  const failures = output
    .split('\n')
    .filter((line) => /\b(ERROR|FATAL|PANIC):/.test(line) && !DATABASE_EXISTS.test(line))
  if (failures.length > 0) throw new Error(`PostgreSQL cannot prepare ${options.cluster}: ${failures.join(' ')}`)
}

const run = async (
  { account, cluster }: Pick<ClusterOptions, 'account'> & Pick<Prepared, 'cluster'>,
  commandFor: (path: string) => readonly string[],
  input = '',
): Promise<string> => {
  const { cwd, path } = account.place(cluster)
  const command = commandFor(path)
  const options = { env: SERVER_ENVIRONMENT, cwd, ...account.spawnAs }
  const { how, output } = await runToEnd([...account.prefix, ...command], options, input)
  if (how !== 0) throw new Error(`${command[0]} ended with ${how}:\n${output.trimEnd()}`)
  return output
}

/**
 * Lets PostgreSQL start if another program has the id in the lock file of a killed server:
 * PostgreSQL would take that program for the server. Replaces only the id, with an id that no
 * process has. The file also names the shared memory of the old server, which tells PostgreSQL
 * whether an orphan of that server still writes.
 */
export const forgetDeadPostmaster = (account: PostgresAccount, cluster: string): void => {
  const noProcess = 2_147_483_646
  const file = join(cluster, 'postmaster.pid')
  if (!existsSync(file)) return
  const [, ...rest] = readFileSync(file, 'utf8').split('\n')
  replaceFile(account, file, [noProcess, ...rest].join('\n'))
}

/**
 * Never writes into an existing file: it could be a link of another account, and root would write
 * to its target.
 */
const replaceFile = (account: PostgresAccount, file: string, content: string): void => {
  const draft = `${file}.draft`
  rmSync(draft, { force: true })
  writeFileSync(draft, content, { mode: 0o600, flag: 'wx' })
  giveTo(account, draft)
  renameSync(draft, file)
}

const giveTo = ({ owner }: PostgresAccount, path: string): void => {
  if (owner !== undefined) lchownSync(path, owner, owner)
}

/** Reads the state of PostgreSQL from the eighth line of its lock file. */
export const isPostmasterReady = (cluster: string, pid: number): boolean => {
  try {
    const lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')
    return Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
  } catch {
    return false
  }
}
