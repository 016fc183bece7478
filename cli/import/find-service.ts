import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { DEFAULT_DATA_DIR, readServiceFile } from '../../runtime/service-file.ts'
import { ImportError } from './import-error.ts'

/** The address of the service, without `/api/v1` and a slash at the end, and a token. */
export type ServiceAccess = { readonly url: string; readonly token: string }

type GivenService = { readonly url?: string | undefined; readonly token?: string | undefined }

/**
 * Takes the given address and token first, then FEEDBACK_URL and FEEDBACK_TOKEN, then those of the
 * service that runs in DATA_DIR. The access token of this service is sent to no other address.
 *
 * @throws ImportError when there is no valid address or no token
 */
export const findService = async (
  given: GivenService,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<ServiceAccess> => {
  const dataDir = environment['DATA_DIR'] || DEFAULT_DATA_DIR
  const running = withoutEnd((await readServiceFile(dataDir))?.url ?? '')
  const url = withoutEnd(given.url || environment['FEEDBACK_URL'] || running)
  if (url === '')
    throw new ImportError('No service runs here: start it with `npm start`, or set FEEDBACK_URL to its address.')
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new ImportError('FEEDBACK_URL (or --url) must be an address such as https://feedback.example.com')
  const kept = url === running ? environment['BOOTSTRAP_ACCESS_TOKEN'] || keptToken(dataDir) : undefined
  const token = given.token || environment['FEEDBACK_TOKEN'] || kept
  if (!token) throw new ImportError('A token is missing: set FEEDBACK_TOKEN to a token of scope submit or admin.')
  return { url, token }
}

/** Users also paste the base address, which ends in /api/v1. */
const withoutEnd = (url: string): string => url.replace(/\/+$/, '').replace(/\/api\/v1$/, '')

const keptToken = (dataDir: string): string | undefined => {
  try {
    return parseEnv(readFileSync(join(dataDir, 'tokens.env'), 'utf8'))['BOOTSTRAP_ACCESS_TOKEN']
  } catch {
    return undefined
  }
}
