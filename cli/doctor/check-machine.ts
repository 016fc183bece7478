import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { isPortFree } from '../start/embedded/free-port.ts'
import { httpAddress } from '../start/start-message.ts'
import { type Checked, warning, well, wrong } from './finding.ts'

const LITTLE_BYTES = 1024 ** 3
const TOO_LITTLE_BYTES = 100 * 1024 ** 2
const BYTES_PER_MIB = 1024 ** 2
const ANSWER_TIMEOUT_MS = 5_000

/** The versions that the product is tested with, from `devDependencies`. */
export type Tested = { readonly bun?: string | undefined; readonly deno?: string | undefined }

export const checkRuntime = (tested: Tested, versions: Readonly<Record<string, string | undefined>>): Checked => {
  for (const name of ['bun', 'deno'] as const) {
    const version = versions[name]
    if (version === undefined) continue
    const expected = tested[name]
    const text = `Runs on ${name === 'bun' ? 'Bun' : 'Deno'} ${version}.`
    const isOlder = expected !== undefined && compare(version, expected) < 0
    return isOlder ? warning(text, `The service is tested with ${expected}. Run: npm install`) : well(text)
  }
  return wrong(`Runs on Node ${versions['node'] ?? 'of unknown version'}.`, 'Run it on Bun or Deno: npm run doctor')
}

/** Below 0 if the version is older than the expected one. */
const compare = (version: string, expected: string): number => {
  const [parts, expectedParts] = [numbersOf(version), numbersOf(expected)]
  const at = parts.findIndex((part, index) => part !== (expectedParts[index] ?? 0))
  return at === -1 ? 0 : (parts[at] ?? 0) - (expectedParts[at] ?? 0)
}

const numbersOf = (version: string): number[] => version.split('.').map((part) => Number.parseInt(part, 10) || 0)

/**
 * Checks the free space in DATA_DIR, where `npm start` keeps its data, and not the disks of other
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

export const NOT_READY = 'Redis or Postgres is away, or the API is stopping: see the other findings.'

/** Leaves out that the API is not ready, if a fault of a server is the reason. */
export const withoutConsequences = (findings: readonly Checked[]): Checked[] => {
  const isOfServer = ({ level, what }: Checked): boolean => level === 'trouble' && /\b(?:Redis|Postgres)\b/.test(what)
  return findings.some(isOfServer)
    ? findings.filter((finding) => finding.level === 'well' || finding.remedy !== NOT_READY)
    : [...findings]
}

/** Whether the API answers at its port, or the port is free for it. */
export const checkApi = async (api: { url: string | undefined; host: string; port: number }): Promise<Checked> => {
  const url = api.url ?? httpAddress(api.host, api.port)
  const answer = await answerOf(`${url}/readyz`)
  if (answer?.['ready'] === true) return well(`The API at ${url} is ready.`)
  if (answer?.['ready'] === false) return wrong(`The API at ${url} answers, but is not ready.`, NOT_READY)
  if (answer) return wrong(`Another program listens at ${url}.`, 'Stop that program, or set PORT to a free port.')
  if (api.url !== undefined)
    return wrong(`No API answers at ${url}, where it should run.`, 'Read the end of its log, and start it again.')
  switch (await stateOfPort(api.port, api.host)) {
    case 'free':
      return warning(`No API runs at ${url}.`, 'Start it: npm start, or npm run api')
    case 'taken':
      return wrong(
        `Port ${api.port} on ${api.host} is taken by a program that does not answer.`,
        'Stop that program, or set PORT to a free port.',
      )
    case 'refused':
      return wrong(
        `No API runs at ${url}, and this user cannot listen there.`,
        'Set HOST to an address of this machine, and PORT to a port that this user may use.',
      )
  }
}

/** Whether a worker answers at its port, or the port is free for it. */
export const checkWorkerPort = async (host: string, port: number): Promise<Checked> => {
  const url = httpAddress(host, port)
  const answer = await answerOf(`${url}/healthz`)
  if (answer?.['alive'] === true) return well(`A worker answers at ${url}.`)
  switch (answer ? 'taken' : await stateOfPort(port, host)) {
    case 'free':
      return well(`WORKER_PORT ${port} is free.`)
    case 'taken':
      return wrong(
        `WORKER_PORT ${port} on ${host} is taken by another program.`,
        'Stop that program, or set WORKER_PORT to a free port.',
      )
    case 'refused':
      return wrong(
        `This user cannot listen on WORKER_PORT ${port} of ${host}.`,
        'Set WORKER_HOST to an address of this machine, and WORKER_PORT to a port that this user may use.',
      )
  }
}

/** `refused`: the system lets no program of this user listen there. */
const stateOfPort = (port: number, host: string): Promise<'free' | 'taken' | 'refused'> =>
  isPortFree(port, host).then(
    (isFree) => (isFree ? 'free' : 'taken'),
    () => 'refused',
  )

/**
 * The JSON of an answer, or an empty object if the answer is not JSON. Undefined if no program
 * answers.
 */
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
