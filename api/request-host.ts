import type { Refusal } from './refusal.ts'

/** A name or an address, with or without a port, as RFC 3986 has it but for percent escapes, which no name needs. */
const HOST = /^(?:[A-Za-z0-9._~!$&'()*+,;=-]+|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?$/

export const NO_HOST: Refusal = {
  refused: 'invalid',
  problems: [{ message: 'The header Host must be a name or an address, with or without a port', path: 'Host' }],
}

/**
 * Whether a request says whom it is for, as far as it says so at all. The runtimes put the header `Host` in front of the path
 * unseen: on Deno `Host: x/api/v1/feedbacks?` makes another route of any path, on Bun what is no host loses the address.
 */
export const hasHost = ({ headers, url }: Request): boolean => {
  const host = headers.get('host')
  return (host === null || HOST.test(host)) && URL.canParse(url)
}
