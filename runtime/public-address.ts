import { lookup, type LookupAddress, type LookupAllOptions } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/**
 * IPv4 addresses outside the public internet (RFC 6890 and its registries): private, loopback,
 * link-local, shared, multicast and reserved.
 */
const NOT_PUBLIC_IPV4 = new BlockList()
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  NOT_PUBLIC_IPV4.addSubnet(network, bits, 'ipv4')

/**
 * Global unicast addresses. Some of their ranges are not public: documentation, tests, and tunnels
 * to IPv4 addresses.
 */
const UNICAST_IPV6 = new BlockList()
UNICAST_IPV6.addSubnet('2000::', 3, 'ipv6')
const NOT_PUBLIC_IPV6 = new BlockList()
for (const [network, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  NOT_PUBLIC_IPV6.addSubnet(network, bits, 'ipv6')

export const isPublicAddress = (address: string): boolean => {
  if (isIP(address) === 4) return !NOT_PUBLIC_IPV4.check(address, 'ipv4')
  if (isIP(address) !== 6) return false
  return UNICAST_IPV6.check(address, 'ipv6') && !NOT_PUBLIC_IPV6.check(address, 'ipv6')
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
