import { chownSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sql } from '../../db/connection/postgres.ts'
import type { Authority, Certificate } from './certificates.ts'
import { until } from './until.ts'

/**
 * Makes a server of Postgres, with its cluster in a directory, accept TLS. `sql` is a connection of
 * its superuser.
 */
export const servePostgresByTls = async (
  sql: Sql,
  directory: string,
  { certificate, key }: Certificate,
): Promise<void> => {
  const keyFile = join(directory, 'server.key')
  writeFileSync(join(directory, 'server.crt'), certificate)
  writeFileSync(keyFile, key, { mode: 0o600 })
  // Postgres requires that only its own user may read the key.
  const { uid, gid } = statSync(directory)
  chownSync(keyFile, uid, gid)
  await sql`alter system set ssl = on`
  await sql`select pg_reload_conf()`
  await until('the settings are reloaded', async () => (await sql`show ssl`)[0]!['ssl'] === 'on')
}

/**
 * The configuration with which a Redis or a sentinel uses TLS, at a port for clients and with all
 * other servers.
 */
export const redisTlsSettings = (
  directory: string,
  { name = '127.0.0.1', port, authority }: { name?: string; port: number; authority: Authority },
): string[] => {
  const { certificate, key } = authority.issueFor(name)
  const files = { 'cert-file': certificate, 'key-file': key, 'ca-cert-file': authority.certificate }
  for (const [file, content] of Object.entries(files)) writeFileSync(join(directory, file), content, { mode: 0o600 })
  return [
    `tls-port ${port}`,
    ...Object.keys(files).map((file) => `tls-${file} ${join(directory, file)}`),
    'tls-auth-clients no',
    'tls-replication yes',
  ]
}
