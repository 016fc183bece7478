import { resolve } from 'node:path'
import { DEFAULT_DATA_DIR } from '../../runtime/service-file.ts'
import {
  type Environment,
  readSettings,
  SECRETS,
  SETTINGS,
  type SettingName,
  type Settings,
  withSecretFiles,
} from '../../runtime/settings.ts'

/** The settings that the environment sets, and the defaults that the launcher uses itself. */
export type LauncherConfig = Partial<Settings<SettingName>> &
  Settings<'HOST' | 'WORKER_HOST' | 'SHUTDOWN_SECONDS'> & { readonly DATA_DIR: string }

/**
 * Reads the settings of the launcher. Also checks the variables that only the API or the worker
 * reads, so that a bad value fails before the servers run.
 *
 * @throws BadSettings
 */
export const readLauncherConfig = (processEnvironment: Environment): LauncherConfig => {
  const environment = withSecretFiles(processEnvironment)
  const given = (Object.keys(SETTINGS) as SettingName[]).filter((name) => environment[name])
  const settings = readSettings([...given, 'HOST', 'WORKER_HOST', 'SHUTDOWN_SECONDS'], environment)
  return Object.freeze({ ...settings, DATA_DIR: resolve(environment['DATA_DIR'] || DEFAULT_DATA_DIR) })
}

/** The names of the settings that the environment has. */
export const givenSettings = (environment: Environment): string[] =>
  [...Object.keys(SETTINGS), ...SECRETS.map((name) => `${name}_FILE`), 'DATA_DIR'].filter((name) => environment[name])
