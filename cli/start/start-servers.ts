import { join } from 'node:path'
import { keepRunning } from './embedded/keep-running.ts'
import { startPostgres } from './embedded/postgres-server.ts'
import { startRedis } from './embedded/redis-server.ts'
import type { EmbeddedServer } from './embedded/server.ts'
import type { LauncherConfig } from './launcher-config.ts'
import type { Running } from './running.ts'

export type ServerUrls = { readonly databaseUrl: string; readonly redisUrl: string }

/**
 * Starts the servers that the configuration does not name, and returns the addresses of both. `say`
 * receives a line about each long step, and about each restart of a server.
 */
export const startServers = async (
  { DATA_DIR, DATABASE_URL, REDIS_URL }: LauncherConfig,
  running: Running,
  say: (line: string) => void,
): Promise<ServerUrls> => {
  const embedded = async (name: string, start: (options: { port?: number }) => Promise<EmbeddedServer>) => {
    const { port, url, ...first } = await start({})
    const kept = keepRunning(first, { name, say, startAgain: () => start({ port }) })
    running.add(kept.stop, [kept.pid])
    return url
  }
  const dataDir = (name: string): string => join(DATA_DIR, name)
  // Waits for both, even if one fails. Then the other is registered as running and will be stopped.
  const [databaseUrl, redisUrl] = await Promise.allSettled([
    DATABASE_URL ??
      embedded('PostgreSQL', (options) => startPostgres({ dataDir: dataDir('postgres'), log: say, ...options })),
    REDIS_URL ??
      embedded('Redis', (options) =>
        startRedis({ dataDir: dataDir('redis'), log: say, stop: running.stopAsked, ...options }),
      ),
  ])
  if (databaseUrl.status === 'rejected') throw databaseUrl.reason
  if (redisUrl.status === 'rejected') throw redisUrl.reason
  return { databaseUrl: databaseUrl.value, redisUrl: redisUrl.value }
}
