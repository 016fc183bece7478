import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { DEFAULT_DATA_DIR, readServiceFile } from '../../runtime/service-file.ts'

/** The service's address, without a slash at its end, and the token for it. */
export type Service = { readonly url: string; readonly token: string }

type Sought = {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly url?: string | undefined
  readonly token?: string | undefined
}

/**
 * Takes the given address and token first, then FEEDBACK_URL and FEEDBACK_TOKEN, then the service
 * that runs in DATA_DIR. Only that service gets the tokens in DATA_DIR. An address or token without
 * a source stays undefined.
 */
export const findService = async ({ environment, url, token }: Sought): Promise<Partial<Service>> => {
  const dataDir = environment['DATA_DIR'] || DEFAULT_DATA_DIR
  const given = url || environment['FEEDBACK_URL'] || undefined
  const running = (await readServiceFile(dataDir))?.url
  const foundUrl = given ?? running
  const ownToken = withoutEnd(given ?? '') === withoutEnd(running ?? '') || given === undefined
  const foundToken =
    token || environment['FEEDBACK_TOKEN'] || (ownToken ? keptToken(environment, dataDir) : undefined) || undefined
  return {
    ...(foundUrl !== undefined && { url: withoutEnd(foundUrl) }),
    ...(foundToken !== undefined && { token: foundToken }),
  }
}

/** Users also paste the base address, which ends in /api/v1. */
const withoutEnd = (url: string): string => url.replace(/\/+$/, '').replace(/\/api\/v1$/, '')

const keptToken = (environment: Sought['environment'], dataDir: string): string | undefined => {
  try {
    const kept = parseEnv(readFileSync(join(dataDir, 'tokens.env'), 'utf8'))
    return environment['BOOTSTRAP_ACCESS_TOKEN'] || kept['BOOTSTRAP_ACCESS_TOKEN']
  } catch {
    return environment['BOOTSTRAP_ACCESS_TOKEN']
  }
}
