import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'
import { LRUCache } from 'lru-cache'

/** The proxies whose `X-Forwarded-For` is trusted. */
export interface TrustedProxies {
  has(address: string): boolean
}

/**
 * Parses a list of proxies.
 *
 * @param list addresses and networks such as `10.0.0.0/8, 2001:db8::/32`, separated by commas; empty for none
 * @throws {Error} naming the first entry that is neither
 */
export function parseTrustedProxies(list: string): TrustedProxies {
  const networks = new BlockList()
  for (const entry of list.split(',').map((each) => each.trim())) {
    if (!entry) continue
    const [address = '', prefix, more] = entry.split('/')
    const family = isIPv4(address) ? 'ipv4' : 'ipv6'
    const bits = prefix === undefined ? (family === 'ipv4' ? 32 : 128) : Number(prefix)
    if (
      !isIP(address) ||
      more !== undefined ||
      (prefix !== undefined && !/^\d{1,3}$/.test(prefix)) ||
      bits > (family === 'ipv4' ? 32 : 128)
    ) {
      throw new Error(`not an address or network: ${entry}`)
    }
    networks.addSubnet(address, bits, family)
  }
  const cache = new LRUCache<string, boolean>({ max: MOST_CACHED })
  return {
    has(address) {
      const cached = cache.get(address)
      if (cached !== undefined) return cached
      const isTrusted = networks.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
      cache.set(address, isTrusted)
      return isTrusted
    },
  }
}

const MAX_HOPS = 64
/** Results are cached, since every request checks the same few gateways and returning clients. */
const MOST_CACHED = 1_000

/**
 * Returns the address of the client: that of the socket or, behind trusted proxies, the right-most `X-Forwarded-For` hop
 * that is not one of them. Hops further left can be forged and are ignored; a hop that is not an address ends the search.
 */
export function clientAddress(request: IncomingMessage, trusted: TrustedProxies): string {
  let address = socketAddress(request.socket)
  const forwarded = request.headers['x-forwarded-for']
  if (forwarded === undefined) return address
  const hops = forwarded.toString().split(',').slice(-MAX_HOPS)
  while (trusted.has(address) && hops.length > 0) {
    const hop = plainAddress(hops.pop() ?? '')
    if (hop === undefined) break
    address = hop
  }
  return address
}

/** Returns the address at the other end of the connection, which may be a proxy. */
export const socketAddress = (socket: { readonly remoteAddress?: string | undefined }): string =>
  plainAddress(socket.remoteAddress ?? '') ?? '0.0.0.0'

/** Removes port, brackets and zone, and converts IPv4-mapped IPv6 to IPv4. Undefined for text that is not an address. */
function plainAddress(sent: string): string | undefined {
  if (isIPv4(sent)) return sent
  const text = sent.trim()
  const bare =
    /^\[(?<v6>[^\]]+)\](?::\d+)?$/.exec(text)?.groups?.['v6'] ??
    /^(?<v4>[\d.]+):\d+$/.exec(text)?.groups?.['v4'] ??
    text
  const address = bare.split('%')[0] ?? ''
  if (isIPv4(address)) return address
  if (!isIPv6(address)) return undefined
  const groups = ipv6Groups(address)
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high = 0, low = 0] = groups.slice(6)
    return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  }
  return groups.map((group) => group.toString(16)).join(':')
}

/** Parses any spelling of a valid IPv6 address into its eight 16-bit groups. */
function ipv6Groups(address: string): number[] {
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = '', tail] = canonical.split('::')
  const parse = (part: string) =>
    part
      .split(':')
      .filter(Boolean)
      .map((group) => Number.parseInt(group, 16))
  const [left, right] = [parse(head), parse(tail ?? '')]
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
}

/**
 * Returns the networks that limits count an address under, the narrowest first: an IPv4 address itself, or the /64 of an IPv6
 * address and, with four times the allowance, its /48. One subscriber can use every address of such a network.
 *
 * @throws {TypeError} for text that is not an address
 */
export function addressNetworks(address: string): { network: string; allowance: number }[] {
  const plain = plainAddress(address)
  if (plain === undefined) throw new TypeError('not an IP address')
  if (isIPv4(plain)) return [{ network: plain, allowance: 1 }]
  const groups = ipv6Groups(plain).map((group) => group.toString(16))
  return [
    { network: `${groups.slice(0, 4).join(':')}::/64`, allowance: 1 },
    { network: `${groups.slice(0, 3).join(':')}::/48`, allowance: 4 },
  ]
}
