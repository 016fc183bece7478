import type { HashKey } from '../../contract/identity/keys.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Settings } from '../../runtime/settings.ts'
import { bindToHashKey } from '../schema/installation.ts'
import { isMigrated, readMigrations } from '../schema/migrate.ts'
import { connectPostgres, type Sql } from './postgres.ts'

type DatabaseSettings = Settings<'DATABASE_URL' | 'DATABASE_SCHEMA' | 'DATABASE_POOLER' | 'DATABASE_CONNECTIONS'>

type HowToOpen = { name: string; statementTimeoutMs: number; isReadOnly?: boolean; log?: Logger }

/** Opens the pool of a process from its settings. */
export const openDatabase = (
  settings: DatabaseSettings,
  { name, statementTimeoutMs, isReadOnly = false, log }: HowToOpen,
): Sql =>
  connectPostgres(settings.DATABASE_URL, {
    connections: settings.DATABASE_CONNECTIONS,
    statementTimeoutMs,
    isReadOnly,
    pooler: settings.DATABASE_POOLER,
    onPrimary: (server) => log?.('warn', 'postgres_primary_changed', { server }),
    applicationName: `feedback-insights-${name}`,
    ...(settings.DATABASE_SCHEMA !== undefined && { schema: settings.DATABASE_SCHEMA }),
  })

/**
 * Why a process must not use this database: the database lacks parts of this version, or was made
 * with another hash key. Undefined if the process may use it. A new database is bound to the hash
 * key.
 */
export const whyNotThisDatabase = async (sql: Sql, hashKey: HashKey): Promise<string | undefined> => {
  if (!(await isMigrated(sql, await readMigrations()))) {
    return 'The database has not been migrated to this version. Run: npm run migrate'
  }
  if (!(await bindToHashKey(sql, hashKey))) {
    return 'HASH_KEY is not the one that this database was made with. Set HASH_KEY to the former key.'
  }
  return undefined
}
