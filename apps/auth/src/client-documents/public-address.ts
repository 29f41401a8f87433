import ipaddr from 'ipaddr.js'

/** Addresses outside of it are not routed on the Internet, such as IPv4-compatible ones (RFC 4291 §2.4). */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Tells whether documents may be fetched from an address: public unicast ones only. An address that embeds another one
 * (IPv4-mapped, NAT64, 6to4, Teredo) is refused, whatever it embeds, so that no gateway of ours can be led to a private address.
 *
 * @param address as a resolver returns it; text that is no address is refused
 */
export function isPublicAddress(address: string): boolean {
  const parsed = parse(address)
  if (parsed?.range() !== 'unicast') return false
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_IPV6)
}

/** Tells whether an address is one of this machine's alone. */
export const isLoopbackAddress = (address: string): boolean => parse(address)?.range() === 'loopback'

/** Parses the usual spelling only: `127.1`, octal and hexadecimal numbers, ports and zones are refused. */
function parse(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address)
  if (ipaddr.IPv6.isValid(address) && !address.includes('%')) return ipaddr.IPv6.parse(address)
  return undefined
}
