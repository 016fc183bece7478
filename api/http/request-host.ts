import type { Refusal } from './refusal.ts'

/**
 * The usual forms of a host in RFC 3986, with or without a port: no empty name, no percent escapes.
 */
const HOST = /^(?:[A-Za-z0-9._~!$&'()*+,;=-]+|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/

export const INVALID_HOST: Refusal = {
  refused: 'invalid',
  problems: [{ message: 'The header Host must be a name or an address, with or without a port', path: 'Host' }],
}

/**
 * Whether the header `Host` of a request, if present, is a host. The runtimes put the header before
 * the path unchecked. On Deno, `Host: x/api/v1/feedbacks?` turns every path into another route. On
 * Bun, a request with a malformed host has no valid URL.
 */
export const isHostValid = ({ headers, url }: Request): boolean => {
  const host = headers.get('host')
  return (host === null || HOST.test(host)) && URL.canParse(url)
}
