import { lookup, type LookupAddress, type LookupAllOptions } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/**
 * Addresses that are not of the public internet (RFC 6890 and the registries that it names):
 * private, loopback, link-local, shared, multicast, reserved, and those that lead to IPv4 from
 * IPv6.
 */
const NOT_PUBLIC = new BlockList()
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
  NOT_PUBLIC.addSubnet(network, bits, 'ipv4')

/** Global unicast addresses of IPv6 without those that are for documentation, tunnels and tests. */
const PUBLIC_IPV6 = new BlockList()
PUBLIC_IPV6.addSubnet('2000::', 3, 'ipv6')
const NOT_PUBLIC_IPV6 = new BlockList()
for (const [network, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  NOT_PUBLIC_IPV6.addSubnet(network, bits, 'ipv6')

export const isPublicAddress = (address: string): boolean => {
  if (isIP(address) === 4) return !NOT_PUBLIC.check(address, 'ipv4')
  if (isIP(address) !== 6) return false
  return PUBLIC_IPV6.check(address, 'ipv6') && !NOT_PUBLIC_IPV6.check(address, 'ipv6')
}

/** The code of the error when a host has an address that is not public. */
export const NOT_PUBLIC_ADDRESS = 'NOT_PUBLIC_ADDRESS'

const notPublic = (): NodeJS.ErrnoException =>
  Object.assign(new Error('The host has an address that is not public.'), { code: NOT_PUBLIC_ADDRESS })

type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  found: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * How a connection finds its address: what it connects to is what was looked at here. A host whose
 * name leads to any address that is not public is refused, unless its name is allowed.
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

/** A host that is an address is connected to without a look-up. */
export const refuseAddress = (hostname: string, allowedHosts: readonly string[]): NodeJS.ErrnoException | undefined => {
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(address) === 0 || allowedHosts.includes(address) || isPublicAddress(address) ? undefined : notPublic()
}
