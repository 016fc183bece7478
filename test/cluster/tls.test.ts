import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { makeAuthority } from '../support/certificates.ts'
import { startPostgresPair } from '../support/postgres-pair.ts'
import { startPostgres } from '../../cli/start/embedded/postgres-server.ts'
import { CLUSTER_MASTERS, startRedisCluster } from '../support/redis-cluster.ts'
import { startRedisSentinel } from '../support/redis-sentinel.ts'
import { freshSchema } from '../support/schema.ts'
import { servePostgresByTls, startTlsService, type TlsService } from '../support/serve-tls.ts'
import { testServers } from '../support/servers.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

describe('several servers with TLS, each with a certificate for its own address', () => {
  const authority = makeAuthority()
  const directory = temporaryDirectory()
  const authorityFile = join(directory, 'authority.pem')
  writeFileSync(authorityFile, authority.certificate)
  const stopping: (() => Promise<unknown>)[] = []
  after(async () => {
    for (const stop of stopping.toReversed()) await stop()
  })

  const serve = async (servers: Record<string, string>): Promise<TlsService['applies']> => {
    const { applies, stop } = await startTlsService(servers, authorityFile)
    stopping.push(stop)
    return applies
  }

  const atTestPostgres = async (): Promise<Record<string, string>> => {
    const schema = await freshSchema()
    stopping.push(schema.drop)
    return { DATABASE_URL: testServers().databaseUrl, DATABASE_SCHEMA: schema.name }
  }

  it('can be a Redis Cluster with a replica of each master, which takes over', async () => {
    const cluster = await startRedisCluster({ replicas: 1, authority })
    stopping.push(cluster.stop)
    const applies = await serve({ ...(await atTestPostgres()), REDIS_URL: cluster.url })
    await applies()
    for (const master of cluster.nodes.slice(0, CLUSTER_MASTERS)) {
      await master.kill()
      await applies()
      await master.start()
      await cluster.untilWhole()
    }
  })

  it('can be a master and its replica that a sentinel names', async () => {
    const redis = await startRedisSentinel(authority)
    stopping.push(redis.stop)
    const applies = await serve({ ...(await atTestPostgres()), REDIS_URL: redis.url })
    await applies()
    await redis.failOver()
    await applies()
  })

  it('can be a primary of Postgres and its standby, which takes over', async () => {
    const addresses = ['127.0.0.1', '127.0.0.2'] as const
    const [primary, standby] = addresses.map((address) => ({
      address,
      start: (options: Parameters<typeof startPostgres>[0]) =>
        startPostgres({ ...options, settings: [`listen_addresses=${addresses.join(',')}`] }),
    }))
    const pair = await startPostgresPair({ isSynchronous: true, places: [primary!, standby!] })
    stopping.push(pair.stop)
    await servePostgresByTls(pair.atFormer, pair.clusters.former, authority.issueFor(addresses[0]))
    await servePostgresByTls(pair.atStandby, pair.clusters.standby, authority.issueFor(addresses[1]))
    const applies = await serve({
      REDIS_URL: testServers().redisUrl,
      REDIS_PREFIX: `t_${randomBytes(6).toString('hex')}`,
      DATABASE_URL: `${pair.url}&sslmode=verify-full`,
    })
    await applies()
    await pair.killPrimary()
    await pair.promote()
    await applies()
    const [{ plain }] = await pair.atStandby<[{ plain: number }]>`
      select count(*)::int as plain from pg_stat_ssl join pg_stat_activity using (pid)
      where usename <> current_user and datname = current_database() and not ssl`
    assert.equal(plain, 0)
  })
})
