import { lookup, type LookupAddress, type LookupAllOptions } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'

/** All global unicast addresses of IPv6. ipaddr.js knows only the special ranges. */
const UNICAST_IPV6 = ipaddr.parseCIDR('2000::/3')

export const isPublicAddress = (address: string): boolean => {
  // ipaddr.js also accepts unusual forms, such as 127.1.
  if (isIP(address) === 0) return false
  const parsed = ipaddr.parse(address)
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(UNICAST_IPV6))
}

/** The code of the error for a host with an address outside the public internet. */
export const NOT_PUBLIC_ADDRESS = 'NOT_PUBLIC_ADDRESS'

const notPublic = (): NodeJS.ErrnoException =>
  Object.assign(new Error('The host has an address that is not public.'), { code: NOT_PUBLIC_ADDRESS })

type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  found: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * Resolves a host for a connection, which then uses the checked addresses. Refuses a name that is
 * not allowed if any of its addresses is outside the public internet.
 */
export const publicLookup =
  (allowedHosts: readonly string[], resolve: Resolve = lookup): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, [])
      const isAllowed = allowedHosts.includes(hostname) || addresses.every(({ address }) => isPublicAddress(address))
      const [first] = addresses
      if (!isAllowed || first === undefined) return callback(notPublic(), [])
      return options.all === true ? callback(null, addresses) : callback(null, first.address, first.family)
    })
  }

/**
 * Resolves the host of a URL, and refuses it as `publicLookup` does. A connection to these addresses
 * needs no second resolution, which could give other ones.
 *
 * @throws with the code NOT_PUBLIC_ADDRESS, or the code of the failed look-up
 */
export const checkedAddresses = (hostname: string, allowedHosts: readonly string[]): Promise<LookupAddress[]> =>
  new Promise((resolve, reject) => {
    const refused = refuseAddress(hostname, allowedHosts)
    if (refused) return reject(refused)
    const address = withoutBrackets(hostname)
    if (isIP(address) !== 0) return resolve([{ address, family: isIP(address) }])
    publicLookup(allowedHosts)(hostname, { all: true }, (error, found) =>
      error ? reject(error) : resolve(found as LookupAddress[]),
    )
  })

/** The address in the host of a URL: an IPv6 address stands in brackets there. */
export const withoutBrackets = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1')

/**
 * Returns an error for a host that is itself an address outside the public internet and is not
 * allowed. A connection to an address does not call `publicLookup`.
 */
export const refuseAddress = (hostname: string, allowedHosts: readonly string[]): NodeJS.ErrnoException | undefined => {
  const address = withoutBrackets(hostname)
  return isIP(address) === 0 || allowedHosts.includes(address) || isPublicAddress(address) ? undefined : notPublic()
}
