import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { isPortFree } from '../start/embedded/free-port.ts'
import { httpAddress } from '../start/start-message.ts'
import { type Checked, warning, well, wrong } from './finding.ts'

const LITTLE_BYTES = 1024 ** 3
const TOO_LITTLE_BYTES = 100 * 1024 ** 2
const BYTES_PER_MIB = 1024 ** 2
const ANSWER_TIMEOUT_MS = 5_000

/**
 * Free space in DATA_DIR, where `npm start` keeps its data. It does not check the disks of other
 * servers.
 */
export const checkDisk = async (dataDir: string): Promise<Checked[]> => {
  if (!existsSync(dataDir)) return []
  const { bavail, bsize } = await statfs(dataDir)
  const free = bavail * bsize
  const text = `${Math.round(free / BYTES_PER_MIB)} MiB are free in DATA_DIR.`
  const remedy = 'Free some space: without it neither Postgres nor Redis can store accepted submissions.'
  if (free < TOO_LITTLE_BYTES) return [wrong(text, remedy)]
  return [free < LITTLE_BYTES ? warning(text, remedy) : well(text)]
}

/** Whether the API answers at its port, or the port is free for it. */
export const checkApi = async (api: { url: string | undefined; host: string; port: number }): Promise<Checked> => {
  const url = api.url ?? httpAddress(api.host, api.port)
  const answer = await answerOf(`${url}/readyz`)
  if (answer?.['ready'] === true) return well(`The API at ${url} is ready.`)
  if (answer?.['ready'] === false)
    return wrong(
      `The API at ${url} answers and is not ready.`,
      'Redis or Postgres is away, or the API is stopping: see the other findings.',
    )
  if (answer) return wrong(`Another program listens at ${url}.`, 'Stop that program, or set PORT to a free port.')
  if (api.url !== undefined)
    return wrong(`No API answers at ${url}, where it should run.`, 'Read the end of its log, and start it again.')
  return (await isPortFree(api.port, api.host))
    ? warning(`No API runs at ${url}.`, 'Start it: npm start, or npm run api')
    : wrong(
        `Port ${api.port} on ${api.host} is taken by a program that does not answer.`,
        'Stop that program, or set PORT to a free port.',
      )
}

/** The JSON of an answer, or an empty object for another answer. Undefined if no program answers. */
const answerOf = async (url: string): Promise<Readonly<Record<string, unknown>> | undefined> => {
  let answer: Response
  try {
    answer = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) })
  } catch {
    return undefined
  }
  const body: unknown = await answer.json().catch(() => undefined)
  return (body ?? {}) as Readonly<Record<string, unknown>>
}
