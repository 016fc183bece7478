import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export const DEFAULT_DATA_DIR = '.data'

/** Where a service that `npm start` runs can be reached; kept in its DATA_DIR, readable by its owner alone. */
export type ServiceFile = {
  url: string
  databaseUrl: string
  databaseSchema: string | undefined
  redisUrl: string
  redisPrefix: string | undefined
  hashKey: string
}

const pathIn = (dataDir: string): string => join(dataDir, 'service.json')

export const writeServiceFile = (dataDir: string, service: ServiceFile): Promise<void> =>
  writeFile(pathIn(dataDir), `${JSON.stringify(service, null, 2)}\n`, { mode: 0o600 })

/** The service has stopped: commands shall not look for it. */
export const removeServiceFile = (dataDir: string): Promise<void> => rm(pathIn(dataDir), { force: true })

/**
 * The environment with the connection strings and the hash key of the service that runs in DATA_DIR, where it has none of its
 * own: so that commands reach it without being told.
 */
export const serviceEnvironment = async (
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Record<string, string | undefined>> => {
  try {
    const text = await readFile(pathIn(environment['DATA_DIR'] || DEFAULT_DATA_DIR), 'utf8')
    const service = JSON.parse(text) as ServiceFile
    return {
      ...environment,
      DATABASE_URL: environment['DATABASE_URL'] || service.databaseUrl,
      DATABASE_SCHEMA: environment['DATABASE_SCHEMA'] || service.databaseSchema,
      REDIS_URL: environment['REDIS_URL'] || service.redisUrl,
      REDIS_PREFIX: environment['REDIS_PREFIX'] || service.redisPrefix,
      HASH_KEY: environment['HASH_KEY'] || service.hashKey,
    }
  } catch {
    return { ...environment }
  }
}
