import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { after, describe, it } from 'node:test'
import postgres from 'postgres'
import { processIdentity } from '../../../../cli/start/embedded/pid-file.ts'
import { startPostgres } from '../../../../cli/start/embedded/postgres-server.ts'
import type { EmbeddedServer } from '../../../../cli/start/embedded/server.ts'
import { superuserUrl } from '../../../support/superuser.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const ask = async <T extends object>(server: { url: string }, statement: string): Promise<T[]> => {
  const sql = postgres(server.url, { max: 1, onnotice: () => {} })
  try {
    return [...(await sql.unsafe<T[]>(statement))]
  } finally {
    await sql.end()
  }
}

describe('the embedded PostgreSQL', () => {
  const dataDir = join(temporaryDirectory(), 'postgres')
  const started: EmbeddedServer[] = []
  const start = async (port?: number): Promise<EmbeddedServer> => {
    const server = await startPostgres({ dataDir, ...(port !== undefined && { port }) })
    started.push(server)
    return server
  }
  after(async () => {
    for (const server of started) await server.stop()
  })

  it('serves a durable UTF-8 database on this machine only', async () => {
    const server = await start()
    // The owner of the database may not read unix_socket_directories.
    const [found] = await ask(
      { url: superuserUrl(dataDir, server.url) },
      `select current_setting('server_encoding') as encoding, lower('ÄÖ') as lower, current_setting('fsync') as fsync,
        current_setting('synchronous_commit') as commits, current_setting('listen_addresses') as addresses,
        current_setting('unix_socket_directories') as sockets, current_database() as database`,
    )
    assert.deepEqual(found, {
      encoding: 'UTF8',
      lower: 'äö',
      fsync: 'on',
      commits: 'on',
      addresses: '127.0.0.1',
      sockets: '',
      database: 'feedback_insights',
    })
  })

  it('asks every user for a password, which only its owner can read', async () => {
    const { url, port } = await start()
    for (const user of ['postgres', 'feedback_insights']) {
      const guess = `postgres://${user}:guess@127.0.0.1:${port}/feedback_insights`
      await assert.rejects(ask({ url: guess }, 'select 1'), { code: '28P01' })
    }
    assert.ok(url.includes(readFileSync(join(dataDir, 'owner-password'), 'utf8').trim()))
    for (const name of ['owner-password', 'superuser-password']) {
      assert.equal(statSync(join(dataDir, name)).mode & 0o777, 0o600)
    }
  })

  it('makes new passwords for lost files', async () => {
    const first = await start()
    await ask(first, 'create table stayed (id int)')
    await first.stop()
    for (const name of ['owner-password', 'superuser-password']) rmSync(join(dataDir, name))
    const second = await start()
    assert.notEqual(second.url, first.url)
    assert.deepEqual(await ask(second, 'select * from stayed'), [])
    assert.deepEqual(await ask({ url: superuserUrl(dataDir, second.url) }, 'select 1 as one'), [{ one: 1 }])
  })

  it('makes a new password at the next start if a start could not set it', async () => {
    const first = await start()
    await first.stop()
    rmSync(join(dataDir, 'owner-password'))
    const control = join(dataDir, 'cluster', 'global', 'pg_control')
    renameSync(control, `${control}.away`)
    await assert.rejects(start(), /ended with/)
    renameSync(`${control}.away`, control)
    assert.deepEqual(await ask(await start(), 'select 1 as one'), [{ one: 1 }])
  })

  it('starts again after kill -9 with the confirmed data', async () => {
    const first = await start()
    await ask(first, 'create table killed as select 1 as id')
    process.kill(first.pid, 'SIGKILL')
    assert.equal(await first.exited, 'ended with SIGKILL')
    const second = await start()
    assert.deepEqual(await ask(second, 'select id from killed'), [{ id: 1 }])
  })

  it('starts again when another program has the id of the killed server', async () => {
    const first = await start()
    process.kill(first.pid, 'SIGKILL')
    await first.exited
    const other = spawn('sleep', ['60'])
    await once(other, 'spawn')
    try {
      const file = join(dataDir, 'cluster', 'postmaster.pid')
      const [, ...rest] = readFileSync(file, 'utf8').split('\n')
      writeFileSync(file, [other.pid, ...rest].join('\n'))
      assert.deepEqual(await ask(await start(), 'select 1 as one'), [{ one: 1 }])
    } finally {
      other.kill()
    }
  })

  it('ends the server that an earlier start left behind', async () => {
    const left = await start()
    const server = await start()
    assert.equal(processIdentity(left.pid), undefined)
    assert.equal(await left.exited, 'ended with 0')
    assert.equal(server.url, left.url)
  })

  it('refuses a wanted port that is taken, but replaces the port of the last start if that is taken', async () => {
    const first = await start()
    await first.stop()
    const other = createServer().listen(first.port, '127.0.0.1')
    await once(other, 'listening')
    try {
      await assert.rejects(start(first.port), { message: `port ${first.port} is taken` })
      assert.notEqual((await start()).port, first.port)
    } finally {
      other.close()
    }
  })

  it('keeps submitted content out of its log', async () => {
    const server = await start()
    await ask(server, 'create table once (word text primary key)')
    for (const statement of [
      `insert into once values ('unspeakable'), ('unspeakable')`,
      `select '{"unspeakable"'::jsonb`,
      `select 'unspeakable'::int`,
      `unspeakable`,
    ]) {
      await assert.rejects(ask(server, statement))
    }
    const log = readFileSync(join(dataDir, 'postgres.log'), 'utf8')
    assert.match(log, /ready to accept connections/)
    assert.doesNotMatch(log, /unspeakable/)
  })
})
