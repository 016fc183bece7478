import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { isOrdinaryOutside } from '../../../../cli/start/embedded/postgres-account.ts'
import { binariesIn, copyForAll, postgresBinaries } from '../../../../cli/start/embedded/postgres-binaries.ts'
import { startPostgres } from '../../../../cli/start/embedded/postgres-server.ts'
import type { Sql } from '../../../../db/connection/postgres.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'
import { describeWhere, itWhere } from '../../../support/where.ts'

const isRoot = process.getuid?.() === 0
const NOT_ROOT = isRoot ? undefined : 'only root has other accounts'
const ROOT = 0
const UNPRIVILEGED = 65_534
const INSUFFICIENT_PRIVILEGE = '42501'

const withServer = async (dataDir: string, work: (sql: Sql, server: { pid: number; url: string }) => Promise<void>) => {
  const server = await startPostgres({ dataDir })
  const sql = postgres(server.url, { max: 1, onnotice: () => {} })
  try {
    await work(sql, server)
  } finally {
    await sql.end({ timeout: 5 })
    await server.stop()
  }
}

/** In a container, a process can have such a user, and packages that belong to root. */
describe('a user without a name', () => {
  const NAMELESS = 1_234_567
  const asNameless = ['--clear-groups', `--reuid=${NAMELESS}`, `--regid=${NAMELESS}`]
  const module = fileURLToPath(new URL('../../../../cli/start/embedded/postgres-server.ts', import.meta.url))
  const canTry = isRoot && spawnSync('setpriv', [...asNameless, 'test', '-r', module]).status === 0
  // Another user cannot enter the temporary directory of a test run.
  const dataDir = mkdtempSync('/tmp/feedback-insights-nameless-')
  after(() => rmSync(dataDir, { recursive: true }))

  itWhere(
    'starts PostgreSQL, or gets a message with the remedy',
    canTry ? undefined : 'this needs root, setpriv and a repository that every user can read',
    () => {
      chownSync(dataDir, NAMELESS, NAMELESS)
      const code = `
      import { startPostgres } from '${module}'
      const server = await startPostgres({ dataDir: '${dataDir}' })
      await server.stop()
      console.log('ran')`
      const words = [...asNameless, 'env', 'HOME=/', process.execPath, '-e', code]
      const { stdout, stderr } = spawnSync('setpriv', words, { encoding: 'utf8', cwd: '/' })
      assert.match(stdout + stderr, /^ran$|needs a name for the user who starts it, and the user 1234567 has none/m)
    },
  )
})

describe('the accounts of the embedded PostgreSQL:', () => {
  const directory = temporaryDirectory()
  const privateDirectory = join(directory, 'home')
  mkdirSync(privateDirectory, { mode: 0o700 })

  it('the server runs as the unprivileged user when root starts it, even below a private directory', async () => {
    const dataDir = join(privateDirectory, 'postgres')
    await withServer(dataDir, async (_sql, { pid }) => {
      if (process.platform !== 'linux') return
      const ids = /^Uid:\t(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]?.split('\t')
      assert.deepEqual(new Set(ids), new Set([String(isRoot ? UNPRIVILEGED : process.getuid!())]))
      if (isRoot) assert.match(readFileSync(`/proc/${pid}/status`, 'utf8'), /^CapEff:\t0+$/m)
    })
    for (const name of readdirSync(dataDir)) {
      const expected = isRoot && name === 'cluster' ? UNPRIVILEGED : process.getuid!()
      assert.equal(lstatSync(join(dataDir, name)).uid, expected, name)
    }
  })

  it('the user of the URL owns the database, but is no superuser and reaches no files, programs or other roles', async () => {
    await withServer(join(privateDirectory, 'postgres'), async (sql) => {
      const [row] = await sql`select rolsuper, pg_get_userbyid(datdba) = current_user as owns
        from pg_roles, pg_database where rolname = current_user and datname = current_database()`
      assert.deepEqual({ ...row }, { rolsuper: false, owns: true })
      for (const statement of [
        `copy (select 1) to program 'id'`,
        `copy (select 1) to '/tmp/copied'`,
        `select pg_read_file('/etc/passwd')`,
        `alter system set archive_command = 'id'`,
        `set session_preload_libraries = 'x'`,
        `create role other superuser`,
        `grant pg_execute_server_program to current_user`,
        `alter role postgres password 'x'`,
      ]) {
        await assert.rejects(sql.unsafe(statement), { code: INSUFFICIENT_PRIVILEGE }, statement)
      }
    })
  })

  itWhere('programs below a private directory run from a copy that every user can read', NOT_ROOT, () => {
    const own = postgresBinaries()
    const root = join(privateDirectory, 'native')
    cpSync(own.root, root, { recursive: true, verbatimSymlinks: true })
    chmodSync(join(root, 'bin'), 0o700)
    const cache = join(directory, 'cache')
    const copy = copyForAll(binariesIn(root, own.version), cache)
    assert.ok(copy)
    const closed = spawnSync('find', [cache, '!', '-type', 'l', '!', '-perm', '-o=r'], { encoding: 'utf8' })
    assert.deepEqual([closed.status, closed.stdout], [0, ''])
    assert.equal(spawnSync(copy.initdb, ['--version']).status, 0)
    assert.deepEqual(readdirSync(cache), [`postgresql-${own.version}`])
    assert.deepEqual(copyForAll(binariesIn(root, own.version), cache), copy)
  })

  it('the real root and a root beside other users differ from the only user of a namespace', () => {
    assert.equal(isOrdinaryOutside('         0       1000          1\n'), true)
    assert.equal(isOrdinaryOutside('         0          0          1\n'), false)
    assert.equal(isOrdinaryOutside('         0          0 4294967295\n'), false)
    assert.equal(isOrdinaryOutside('         0       1000          1\n         1     100000      65536\n'), false)
  })

  itWhere('no copy is made in a directory that cannot be written', NOT_ROOT, () => {
    assert.equal(copyForAll(postgresBinaries(), '/proc/nowhere'), undefined)
  })
})

describeWhere('a data directory of another account', NOT_ROOT, () => {
  const dataDir = join(temporaryDirectory(), 'postgres')

  it('is taken over with its rows, from root or the unprivileged user', async () => {
    await withServer(dataDir, async (sql) => void (await sql`create table kept as select 'one' as word`))
    for (const owner of [ROOT, UNPRIVILEGED]) {
      assert.equal(spawnSync('chown', ['-R', `${owner}:${owner}`, dataDir]).status, 0)
      await withServer(dataDir, async (sql) => {
        assert.deepEqual([...(await sql`select word from kept`)], [{ word: 'one' }])
      })
    }
  })
})
