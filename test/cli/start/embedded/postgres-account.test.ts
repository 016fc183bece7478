import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { after, describe, it } from 'node:test'
import postgres from 'postgres'
import { isOrdinaryOutside } from '../../../../cli/start/embedded/postgres-account.ts'
import { binariesIn, postgresBinaries } from '../../../../cli/start/embedded/postgres-binaries.ts'
import { copyForAll } from '../../../../cli/start/embedded/postgres-copy.ts'
import { startPostgres } from '../../../../cli/start/embedded/postgres-server.ts'
import { dropReader } from '../../../../db/readers.ts'
import type { Sql } from '../../../../db/postgres.ts'
import { formerCluster } from '../../../support/former-cluster.ts'
import { superuserUrl } from '../../../support/superuser.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const isRoot = process.getuid?.() === 0
const NOBODY = 65_534
const INSUFFICIENT_PRIVILEGE = '42501'
const FORMER_PASSWORD = 'of-the-former-superuser'

/** What former starts left, and whose it was: root's in a user namespace, or all of it another user's. */
const FORMER_OWNERS = isRoot ? [0, NOBODY] : [process.getuid!()]

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

describe('who runs the embedded PostgreSQL, and whose the printed connection string is', () => {
  const directory = temporaryDirectory()
  const private_ = join(directory, 'home')
  mkdirSync(private_, { mode: 0o700 })

  it('is nobody else than nobody when root starts it, also below a private directory', async () => {
    const dataDir = join(private_, 'postgres')
    await withServer(dataDir, async (_sql, { pid }) => {
      if (process.platform !== 'linux') return
      const ids = /^Uid:\t(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]?.split('\t')
      assert.deepEqual(new Set(ids), new Set([String(isRoot ? NOBODY : process.getuid!())]))
      if (isRoot) assert.match(readFileSync(`/proc/${pid}/status`, 'utf8'), /^CapEff:\t0+$/m)
    })
    for (const name of readdirSync(dataDir)) {
      const expected = isRoot && name === 'cluster' ? NOBODY : process.getuid!()
      assert.equal(lstatSync(join(dataDir, name)).uid, expected, name)
    }
    for (const name of ['owner-password', 'superuser-password']) {
      assert.equal(statSync(join(dataDir, name)).mode & 0o777, 0o600)
    }
  })

  it('is an owner of the database who is no superuser, and reaches nothing outside of it', async () => {
    await withServer(join(private_, 'postgres'), async (sql) => {
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

  it('runs programs that lie below a private directory from a copy that everyone can read', { skip: !isRoot }, () => {
    const own = postgresBinaries()
    const root = join(private_, 'native')
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

  it('tells root that is an ordinary user outside from root that is root', () => {
    assert.equal(isOrdinaryOutside('         0       1000          1\n'), true)
    assert.equal(isOrdinaryOutside('         0          0          1\n'), false)
    assert.equal(isOrdinaryOutside('         0          0 4294967295\n'), false)
    assert.equal(isOrdinaryOutside('         0       1000          1\n         1     100000      65536\n'), false)
  })

  it('makes no copy where it cannot write', { skip: !isRoot }, () => {
    assert.equal(copyForAll(postgresBinaries(), '/proc/nowhere'), undefined)
  })
})

describe('a data directory of a former version', () => {
  for (const owner of FORMER_OWNERS) {
    const dataDir = join(temporaryDirectory(), 'postgres')
    after(() => assert.ok(!existsSync(join(dataDir, 'cluster.draft'))))

    it(`is taken over with its rows, its owner and its readers (user ${owner})`, async () => {
      formerCluster(dataDir, FORMER_PASSWORD, [
        `create table kept (id int generated always as identity, word text, serial_id serial)`,
        `insert into kept (word) values ('one'), ('two')`,
        `create type mood as enum ('well')`,
        `create schema other`,
        `create view other.words as select word from kept`,
        `create sequence other.counter`,
        `create function other.one() returns int language sql return 1`,
        `create role former_reader login`,
        `grant select on kept to former_reader`,
      ])
      if (isRoot) assert.equal(spawnSync('chown', ['-R', `${owner}:${owner}`, dataDir]).status, 0)
      await withServer(dataDir, async (sql, { url }) => {
        assert.deepEqual(
          (await sql`select id, word from kept order by id`).map((row) => ({ ...row })),
          [
            { id: 1, word: 'one' },
            { id: 2, word: 'two' },
          ],
        )
        await sql`alter table kept add column more text`
        await sql`alter type mood add value 'better'`
        await sql`insert into kept (word) values ('three')`
        await sql`create or replace function other.one() returns int language sql return 2`
        await dropReader(sql, 'former_reader')
        const former = new URL(url)
        former.username = 'postgres'
        former.password = FORMER_PASSWORD
        const old = postgres(former.href, { max: 1 })
        await assert.rejects(old`select 1`, { code: '28P01' })
        await old.end()
        const left = postgres(superuserUrl(dataDir, url), { max: 1 })
        const [{ n }] = await left<[{ n: number }]>`
          select count(*)::int as n from pg_class as c join pg_namespace as s on s.oid = relnamespace
          where nspname in ('public', 'other') and relowner = 'postgres'::regrole`
        await left.end()
        assert.equal(n, 0)
      })
      assert.ok(!existsSync(join(dataDir, 'password')))
      await withServer(dataDir, async (sql) => {
        assert.equal((await sql`select * from other.words`).length, 3)
      })
    })
  }
})
