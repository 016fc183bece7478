import { stderr } from 'node:process'
import { lockDataDir } from '../start/embedded/data-dir-lock.ts'
import { keptHashKey } from '../start/embedded/kept-secrets.ts'
import { type LauncherConfig, readLauncherConfig } from '../start/launcher-config.ts'
import { createRunning, type Running } from '../start/running.ts'
import { startServers } from '../start/start-servers.ts'
import { type Environment, withSecretFiles } from '../../runtime/settings.ts'
import { CommandError, type OpenedServers } from '../run-command.ts'

/** Whether the environment names no Postgres or no Redis, so that `npm start` uses one in DATA_DIR. */
export const isIntoDataDir = (given: Environment): boolean => {
  const { DATABASE_URL, REDIS_URL } = withSecretFiles(given)
  return !DATABASE_URL || !REDIS_URL
}

/**
 * The servers to restore into: those of DATABASE_URL and REDIS_URL. The servers that these do not
 * name are started in DATA_DIR, as by `npm start`, and the key is stored there.
 *
 * @throws CommandError when HASH_KEY or DATA_DIR has another key, or when a server does not start
 */
export const openTarget = async (given: Environment, key: string): Promise<OpenedServers> => {
  const config = readLauncherConfig(given)
  if (config.HASH_KEY !== undefined) refuseOtherKey('HASH_KEY', config.HASH_KEY, key)
  const environment = { ...withSecretFiles(given), HASH_KEY: key }
  if (!isIntoDataDir(given)) return { environment, stop: async () => {} }
  const running = createRunning()
  try {
    const urls = await startIn(config, running, key)
    return {
      environment: { ...environment, DATABASE_URL: urls.databaseUrl, REDIS_URL: urls.redisUrl },
      stop: running.stopAll,
    }
  } catch (error) {
    await running.stopAll()
    throw error instanceof CommandError
      ? error
      : new CommandError(error instanceof Error ? error.message : String(error))
  }
}

const startIn = async (config: LauncherConfig, running: Running, key: string): ReturnType<typeof startServers> => {
  running.add(lockDataDir(config.DATA_DIR).release)
  refuseOtherKey(config.DATA_DIR, keptHashKey(config.DATA_DIR, key), key)
  return startServers(config, running, (line) => void stderr.write(`${line}\n`))
}

const refuseOtherKey = (place: string, given: string, key: string): void => {
  if (given.toLowerCase() === key) return
  throw new CommandError(
    `${place} has another key than the backup, so it belongs to another installation. Choose another DATA_DIR, or unset HASH_KEY.`,
  )
}
