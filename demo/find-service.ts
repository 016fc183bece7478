import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'

export type Service = { readonly url: string; readonly databaseUrl: string; readonly accessToken: string }

/** The address of a running service and its token; undefined if there is no sign of one. */
export const findService = (env: Readonly<Record<string, string | undefined>>): Service | undefined => {
  const dataDir = env['DATA_DIR'] || '.data'
  // The file that the launcher keeps while it runs.
  const running = JSON.parse(read(join(dataDir, 'service.json')) ?? '{}') as { url?: string; databaseUrl?: string }
  const tokens = parseEnv(read(join(dataDir, 'tokens.env')) ?? '')
  const url = env['FEEDBACK_URL'] || running.url
  const databaseUrl = env['DATABASE_URL'] || running.databaseUrl
  const accessToken = env['BOOTSTRAP_ACCESS_TOKEN'] || tokens['BOOTSTRAP_ACCESS_TOKEN']
  if (!url || !databaseUrl || !accessToken) return undefined
  return { url: url.replace(/\/+$/, ''), databaseUrl, accessToken }
}

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
