export type Encoding = 'identity' | 'gzip'

/**
 * The encoding of a body; undefined if the service does not know the encoding. Each name counts
 * once, since a proxy may repeat a header. `x-gzip` is `gzip` (RFC 9110, 8.4.1.3).
 */
export const readEncoding = (headers: Headers): Encoding | undefined => {
  const given = headers.get('content-encoding')
  if (!given) return 'identity'
  const names = given.split(',').map((name) => name.trim().toLowerCase())
  const codings = new Set(names.filter((name) => name !== '' && name !== 'identity'))
  if (codings.size === 0) return 'identity'
  return codings.isSubsetOf(GZIP_NAMES) ? 'gzip' : undefined
}

const GZIP_NAMES = new Set(['gzip', 'x-gzip'])

/**
 * Whether a content type is JSON. If the header occurs several times, each value has to be JSON.
 */
export const isJsonType = (contentType: string | null): boolean => {
  if (contentType === 'application/json') return true
  return (contentType ?? '').toLowerCase().split(',').every(isOneJsonType)
}

const isOneJsonType = (contentType: string): boolean => {
  const [type = '', ...parameters] = contentType.split(';')
  return type.trim() === 'application/json' && parameters.every(keepsUtf8)
}

/**
 * RFC 8259 defines no parameters for JSON. Only a charset matters: we would misread any but UTF-8.
 */
const keepsUtf8 = (parameter: string): boolean => {
  const charset = /^\s*charset\s*=\s*(.*)$/.exec(parameter)?.[1]
  return charset === undefined || /^(?:utf-?8|"utf-?8")\s*$/.test(charset)
}

const MAX_WAIT_SECONDS = 30
/** Ample for all preferences of the interface. A longer header is not read on. */
const MOST_PREFER_CHARACTERS = 1_000

/** The members of a list of RFC 9110. It accepts any text and never backtracks. */
const LIST_MEMBERS = /(?:"(?:[^"\\]+|\\.?)*"?|[^",]+)+/g
const WAIT = /^[ \t]*wait[ \t]*(?:[=;]|$)/i
const SECONDS = /^[^=;]*=[ \t]*("?)(\d+)\1[ \t]*(?:;|$)/
const HANDLING = /^[ \t]*handling[ \t]*(?:[=;]|$)/i
const STRICT = /^[^=;]*=[ \t]*("?)strict\1[ \t]*(?:;|$)/i

/** The preferences of a request. The items of a batch ask for them again and again. */
const preferences = new WeakMap<Headers, readonly string[]>()

const preferencesOf = (headers: Headers): readonly string[] => {
  const known = preferences.get(headers)
  if (known) return known
  const found = headers.get('prefer')?.slice(0, MOST_PREFER_CHARACTERS).match(LIST_MEMBERS) ?? []
  preferences.set(headers, found)
  return found
}

/** The first preference of a name counts (RFC 7240). */
const firstPreference = (headers: Headers, name: RegExp): string | undefined =>
  preferencesOf(headers).find((preference) => name.test(preference))

/** The seconds in `Prefer: wait=N`, at most 30; undefined without this preference. */
export const waitSeconds = (headers: Headers): number | undefined => {
  const digits = SECONDS.exec(firstPreference(headers, WAIT) ?? '')?.[2]
  return digits === undefined ? undefined : Math.min(Number(digits), MAX_WAIT_SECONDS)
}

/** Whether probable mistakes are refused: `Prefer: handling=strict`. */
export const isStrict = (headers: Headers): boolean => STRICT.test(firstPreference(headers, HANDLING) ?? '')
