import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { startPostgres } from '../../cli/start/embedded/postgres-server.ts'
import { startRedis } from '../../cli/start/embedded/redis-server.ts'
import { connectPostgres, type Sql } from '../../db/connection/postgres.ts'
import { connectToAnswer } from '../../queue/redis/connect-redis.ts'
import { findLastingPort } from '../support/lasting-port.ts'
import { type Certificate, makeAuthority } from '../support/certificates.ts'
import { runCommand } from '../support/command.ts'
import { redisTlsSettings, servePostgresByTls, startTlsService } from '../support/serve-tls.ts'
import { superuserUrl } from '../support/superuser.ts'

/** Makes the server require TLS of new connections. */
const TLS_ONLY = 'hostssl all all 127.0.0.1/32 scram-sha-256\n'

describe('a service with TLS to Postgres and Redis', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tls-'))
  const stopping = new AsyncDisposableStack()
  const authorityFile = join(directory, 'authority.pem')
  let databaseUrl: string
  let redisUrl: string

  before(async () => {
    stopping.defer(() => rmSync(directory, { recursive: true, force: true }))
    const authority = makeAuthority()
    writeFileSync(authorityFile, authority.certificate)
    const port = await findLastingPort()
    const settings = redisTlsSettings(directory, { name: 'localhost', port, authority })
    const [postgres, redis] = await Promise.all([
      startPostgres({ dataDir: join(directory, 'postgres') }),
      startRedis({ dataDir: join(directory, 'redis'), settings }),
    ])
    stopping.defer(postgres.stop)
    stopping.defer(redis.stop)
    databaseUrl = await speakTls(postgres.url, authority.issueFor('localhost'))
    redisUrl = `rediss://default:${new URL(redis.url).password}@localhost:${port}`
  })
  after(() => stopping.disposeAsync())

  const speakTls = async (url: string, certificate: Certificate) => {
    const sql = plain(superuserUrl(join(directory, 'postgres'), url))
    const cluster = join(directory, 'postgres', 'cluster')
    writeFileSync(join(cluster, 'pg_hba.conf'), TLS_ONLY)
    await servePostgresByTls(sql, cluster, certificate)
    await sql.end()
    return url.replace('127.0.0.1', 'localhost')
  }

  const plain = (url: string): Sql =>
    connectPostgres(url, { connections: 1, statementTimeoutMs: 5_000, applicationName: 'test' })
  const failure = async (url: string): Promise<{ code?: string }> => {
    const sql = plain(url)
    try {
      return await sql`select 1`.then(
        () => ({}),
        (error: unknown) => error as { code?: string },
      )
    } finally {
      await sql.end({ timeout: 1 })
    }
  }

  it('works if it trusts their certificates', async () => {
    const servers = { DATABASE_URL: `${databaseUrl}?sslmode=verify-full`, REDIS_URL: redisUrl }
    const { applies, stop } = await startTlsService(servers, authorityFile)
    await applies()
    await stop()
  })

  it('refuses a name of Postgres that is not in its certificate', async () => {
    const other = databaseUrl.replace('localhost', '127.0.0.1')
    const environment = { NODE_EXTRA_CA_CERTS: authorityFile, DATABASE_URL: `${other}?sslmode=verify-full` }
    const { code, stderr } = await runCommand({ environment }, 'cli/migrate-command.ts')
    assert.equal(code, 1, stderr)
    assert.match(stderr, /certificate has another name than the host/)
  })

  it('accepts any certificate of Postgres with sslmode=require', async () => {
    assert.deepEqual(await failure(`${databaseUrl}?sslmode=require`), {})
  })

  it('gets no connection to a Postgres with an untrusted certificate, or without TLS', async () => {
    const untrusted = await failure(`${databaseUrl}?sslmode=verify-full`)
    assert.match(untrusted.code ?? '', /CERT|SIGNATURE/)
    assert.equal((await failure(databaseUrl)).code, '28000')
    assert.equal((await failure(`${databaseUrl}?sslmode=disable`)).code, '28000')
  })

  it('gets no connection to a Redis with an untrusted certificate', async () => {
    const redis = connectToAnswer(redisUrl)
    const error = await new Promise<Error>((resolve, reject) => {
      redis.once('error', resolve)
      redis.once('ready', () => reject(new Error('it is trusted')))
    })
    redis.disconnect()
    assert.match(error.message, /self.signed|certificate|UnknownIssuer|unknown issuer/i)
  })
})
