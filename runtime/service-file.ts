import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export const DEFAULT_DATA_DIR = '.data'

/**
 * How to reach a service that `npm start` runs. The file is in the DATA_DIR of the service, and
 * only its owner can read it.
 */
type ServiceFile = {
  url: string
  databaseUrl: string
  databaseSchema: string | undefined
  redisUrl: string
  redisPrefix: string | undefined
  hashKey: string
}

const pathIn = (dataDir: string): string => join(dataDir, 'service.json')

/** Creates a new file: an existing file could be a link, or readable by others. */
export const writeServiceFile = async (dataDir: string, service: ServiceFile): Promise<void> => {
  await removeServiceFile(dataDir)
  await writeFile(pathIn(dataDir), `${JSON.stringify(service, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
}

/** Call this when the service stops, so that commands do not look for the service. */
export const removeServiceFile = (dataDir: string): Promise<void> => rm(pathIn(dataDir), { force: true })

/** Undefined if the directory has no service file, or none that can be read. */
export const readServiceFile = async (dataDir: string): Promise<ServiceFile | undefined> => {
  try {
    return JSON.parse(await readFile(pathIn(dataDir), 'utf8')) as ServiceFile
  } catch {
    return undefined
  }
}

/**
 * Adds missing settings to an environment, from the service file in DATA_DIR. So commands find the
 * service.
 */
export const serviceEnvironment = async (
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Record<string, string | undefined>> => {
  const service = await readServiceFile(environment['DATA_DIR'] || DEFAULT_DATA_DIR)
  if (service === undefined) return { ...environment }
  return {
    ...environment,
    DATABASE_URL: environment['DATABASE_URL'] || service.databaseUrl,
    DATABASE_SCHEMA: environment['DATABASE_SCHEMA'] || service.databaseSchema,
    REDIS_URL: environment['REDIS_URL'] || service.redisUrl,
    REDIS_PREFIX: environment['REDIS_PREFIX'] || service.redisPrefix,
    HASH_KEY: environment['HASH_KEY'] || service.hashKey,
  }
}
