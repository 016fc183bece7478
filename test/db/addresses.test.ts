import assert from 'node:assert/strict'
import { appendFileSync, chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { startPostgres } from '../../cli/start/embedded/postgres-server.ts'
import type { EmbeddedServer } from '../../cli/start/embedded/server.ts'
import { connectPostgres } from '../../db/connection/postgres.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { itWhere } from '../support/where.ts'

const hasIpv6 = Object.values(networkInterfaces()).some((found) => found?.some(({ address }) => address === '::1'))
const HBA_LINES = 'local all all scram-sha-256\nhost all all ::1/128 scram-sha-256\n'

describe('a server of Postgres is reached', () => {
  const dataDir = join(temporaryDirectory(), 'postgres')
  // The path of a socket may have only about 100 bytes.
  const sockets = mkdtempSync('/tmp/fbi-')
  let server: EmbeddedServer
  before(async () => {
    // The first start creates pg_hba.conf.
    await (await startPostgres({ dataDir })).stop()
    appendFileSync(join(dataDir, 'cluster', 'pg_hba.conf'), HBA_LINES)
    // The server may run as another user.
    chmodSync(sockets, 0o777)
    const addresses = hasIpv6 ? '127.0.0.1,::1' : '127.0.0.1'
    server = await startPostgres({
      dataDir,
      settings: [`listen_addresses=${addresses}`, `unix_socket_directories=${sockets}`],
    })
  })
  after(async () => {
    await server?.stop()
    rmSync(sockets, { recursive: true, force: true })
  })

  const addressSeen = async (change: (url: string, port: number) => string): Promise<string | null> => {
    const url = change(server.url, server.port)
    const sql = connectPostgres(url, { connections: 1, statementTimeoutMs: 5_000, applicationName: 'test' })
    try {
      const [row] = await sql<{ address: string | null }[]>`select host(inet_server_addr()) as address`
      return row!.address
    } finally {
      await sql.end({ timeout: 5 })
    }
  }

  itWhere('at an IPv6 address', hasIpv6 ? undefined : 'there is no IPv6', async () => {
    assert.equal(await addressSeen((url) => url.replace('127.0.0.1', '[::1]')), '::1')
    const withStandby = (url: string): string => url.replace(/127\.0\.0\.1:(\d+)/, '[::1]:$1,127.0.0.1:1')
    assert.equal(await addressSeen((url) => `${withStandby(url)}?target_session_attrs=read-write`), '::1')
  })

  it('at its socket', async () => {
    const atSocket = (url: string): string => url.replace('127.0.0.1', encodeURIComponent(sockets))
    assert.equal(await addressSeen(atSocket), null)
    const byParameter = (url: string, port: number): string =>
      `${url.replace(/127\.0\.0\.1:\d+/, '')}?host=${sockets}&port=${port}`
    assert.equal(await addressSeen(byParameter), null)
  })
})
