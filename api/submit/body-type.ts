export type Encoding = 'identity' | 'gzip'

/**
 * Each name counts once, since a proxy may repeat a header. `x-gzip` is `gzip` (RFC 9110, 8.4.1.3).
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

/** If the header occurs several times, each has to say JSON. */
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
