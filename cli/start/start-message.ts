import { relative } from 'node:path'
import process from 'node:process'
import { reachable } from './embedded/free-port.ts'
import type { Tokens } from './embedded/kept-secrets.ts'
import type { LauncherConfig } from './launcher-config.ts'
import type { ServerUrls } from './start-servers.ts'

/** The text printed after the start: addresses, tokens and a first request. */
export const startMessage = (options: {
  config: LauncherConfig
  /** The names of settings that come from the environment. */
  given: readonly string[]
  urls: ServerUrls
  tokens: Tokens
  port: number
}): string => {
  const { config, given, urls, tokens, port } = options
  const address = httpAddress(config.HOST, port)
  return `
Feedback Insights is running; Ctrl-C stops it.

  Page           ${address}/insights   (for people who read; the admin token signs in)
  API            ${address}/api/v1
  Documentation  ${address}/docs
  Overview       ${address}/admin   (any user name; the admin token is the password)
  Dashboard      ${address}/admin/queues   (the same user name and password)
  PostgreSQL     ${config.DATABASE_URL === undefined ? urls.databaseUrl : withoutPassword(urls.databaseUrl)}
  Redis          ${config.REDIS_URL === undefined ? urls.redisUrl : withoutPassword(urls.redisUrl)}
  Data and logs  ${shortPath(config.DATA_DIR)}
  Environment    ${given.length === 0 ? 'no setting' : given.join(', ')}

  Access token   ${tokens.BOOTSTRAP_ACCESS_TOKEN}   (submits)
  Admin token    ${tokens.BOOTSTRAP_ADMIN_TOKEN}   (submits, reads and purges; dashboard and metrics)

A first request, to paste into another terminal:

curl -i ${address}/api/v1/feedbacks \\
  -H 'Authorization: Bearer ${tokens.BOOTSTRAP_ACCESS_TOKEN}' \\
  -H 'Content-Type: application/json' \\
  -d '{"description": "Exporting a report takes too long", "contact": {"email": "ada@example.com", "name": "Ada"}, "rating": 3}'
`
}

const shortPath = (path: string): string => {
  const fromHere = relative(process.cwd(), path)
  return fromHere === '' || fromHere.startsWith('..') ? path : fromHere
}

/** The operator knows the passwords of an existing server; the terminal need not show them. */
const withoutPassword = (url: string): string =>
  url.replace(/(:\/\/[^:@/?#]*:)[^/?#]*@/, '$1…@').replace(/(sentinelPassword=)[^&]*/, '$1…')

/** The address at which this machine reaches a listener on `host`. */
export const httpAddress = (host: string, port: number): string => {
  const reached = reachable(host)
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`
}
