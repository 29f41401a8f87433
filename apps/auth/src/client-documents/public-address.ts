import ipaddr from 'ipaddr.js'

/**
 * The global unicast range. Addresses outside of it, such as IPv4-compatible ones (RFC 4291 §2.4), are not routed on the
 * Internet.
 */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Returns true if documents may be fetched from an address. Only public unicast addresses are allowed. An address that embeds
 * another one (IPv4-mapped, NAT64, 6to4, Teredo) is refused, since one of our gateways might route it to a private address.
 *
 * @param address the text that a resolver returned; text that is not an address is refused
 */
export function isPublicAddress(address: string): boolean {
  const parsed = parseAddress(address)
  if (parsed?.range() !== 'unicast') return false
  return parsed instanceof ipaddr.IPv4 || parsed.match(GLOBAL_IPV6)
}

export const isLoopbackAddress = (address: string): boolean => parseAddress(address)?.range() === 'loopback'

/** Parses only the usual spelling of an address. `127.1`, octal and hexadecimal numbers, ports and zones are refused. */
function parseAddress(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return ipaddr.IPv4.parse(address)
  if (ipaddr.IPv6.isValid(address) && !address.includes('%')) return ipaddr.IPv6.parse(address)
  return undefined
}
