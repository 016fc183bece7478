/** The servers that a DATABASE_URL names. */
export type PostgresAddress = {
  /** Each of them by a URL of its own. */
  urls: readonly string[]
  /** Whether only that one may be used which takes writes. */
  isPrimaryAsked: boolean
}

const PARTS = /^(?<before>postgres(?:ql)?:\/\/(?:[^/?]*@)?)(?<hosts>(?:[^@/?,]+(?:,[^@/?,]+)*)?)(?<rest>(?:[/?].*)?)$/
const ATTRIBUTE = 'target_session_attrs'

/**
 * Reads `postgres://user:password@host:port,host:port/database?target_session_attrs=read-write`, as libpq has it; `primary` is the same.
 * One server needs no `target_session_attrs`, several do. Returns undefined for any other text.
 */
export const readPostgresUrl = (text: string): PostgresAddress | undefined => {
  const { before, hosts, rest } = PARTS.exec(text)?.groups ?? {}
  const urls = hosts?.split(',').map((host) => `${before}${host}${rest}`)
  if (urls === undefined || !urls.every((url) => URL.canParse(url))) return undefined
  const asked = new URL(urls[0]!).searchParams.get(ATTRIBUTE)
  if (asked !== 'read-write' && asked !== 'primary')
    return urls.length > 1 ? undefined : { urls, isPrimaryAsked: false }
  return { urls: urls.map(withoutAttribute), isPrimaryAsked: true }
}

const withoutAttribute = (text: string): string => {
  const url = new URL(text)
  url.searchParams.delete(ATTRIBUTE)
  return url.href
}
