import { resolve } from 'node:path'

const PACKAGE = 'feedback-insights'

/**
 * The path of a file that the caller named. npm and Bun run scripts in the folder of this package.
 * npm names the caller's folder in INIT_CWD, Bun in npm_config_local_prefix. With npm, the latter
 * is the folder of this package.
 */
export const pathOfCaller = (path: string, environment: Readonly<Record<string, string | undefined>>): string => {
  const isScript = environment['npm_package_name'] === PACKAGE
  const called = environment['INIT_CWD'] ?? environment['npm_config_local_prefix']
  return resolve((isScript ? called : undefined) ?? '.', path)
}
