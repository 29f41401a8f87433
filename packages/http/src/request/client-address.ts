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
 * @throws {Error} that names the first invalid entry
 */
export function parseTrustedProxies(list: string): TrustedProxies {
  const networks = new BlockList()
  for (const entry of list.split(',').map((part) => part.trim())) {
    if (!entry) continue
    const [address = '', prefix, excess] = entry.split('/')
    const family = isIPv4(address) ? 'ipv4' : 'ipv6'
    const maxBits = family === 'ipv4' ? 32 : 128
    const bits = prefix === undefined ? maxBits : Number(prefix)
    if (
      !isIP(address) ||
      excess !== undefined ||
      (prefix !== undefined && !/^\d{1,3}$/.test(prefix)) ||
      bits > maxBits
    ) {
      throw new Error(`not an address or network: ${entry}`)
    }
    networks.addSubnet(address, bits, family)
  }
  const trustByAddress = new LRUCache<string, boolean>({ max: MAX_CACHED_ADDRESSES })
  return {
    has(address) {
      const cachedTrust = trustByAddress.get(address)
      if (cachedTrust !== undefined) return cachedTrust
      const isTrusted = networks.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
      trustByAddress.set(address, isTrusted)
      return isTrusted
    },
  }
}

const MAX_HOPS = 64
/**
 * Enough for the few gateways and the clients that return soon. Small, because a cache with `max` reserves memory for all its
 * entries at once.
 */
const MAX_CACHED_ADDRESSES = 1_000

/**
 * Finds the client's address: the socket's or, behind trusted proxies, the right-most `X-Forwarded-For` hop that is not
 * a trusted proxy. Hops further left can be forged and are ignored, as are all but the last 64. A hop that is not an
 * address ends the search, and the trusted proxy that sent it is returned.
 */
export function findClientAddress(request: IncomingMessage, trusted: TrustedProxies): string {
  let address = getSocketAddress(request.socket)
  const forwarded = request.headers['x-forwarded-for']
  if (forwarded === undefined) return address
  const hops = forwarded.toString().split(',').slice(-MAX_HOPS)
  while (hops.length > 0 && trusted.has(address)) {
    const hop = normalizeAddress(hops.pop() ?? '')
    if (hop === undefined) break
    address = hop
  }
  return address
}

/** Returns the address at the other end of the connection, which may be a proxy; `0.0.0.0` if it is no longer known. */
export const getSocketAddress = (socket: { readonly remoteAddress?: string | undefined }): string =>
  normalizeAddress(socket.remoteAddress ?? '') ?? '0.0.0.0'

/**
 * Removes port, brackets and zone, converts IPv4-mapped IPv6 to IPv4, and writes out other IPv6 addresses in eight
 * groups. Returns undefined for text that is not an address.
 */
function normalizeAddress(input: string): string | undefined {
  if (isIPv4(input)) return input
  const text = input.trim()
  const host =
    /^\[(?<v6>[^\]]+)\](?::\d+)?$/.exec(text)?.groups?.['v6'] ??
    /^(?<v4>[\d.]+):\d+$/.exec(text)?.groups?.['v4'] ??
    text
  const address = host.split('%')[0] ?? ''
  if (isIPv4(address)) return address
  if (!isIPv6(address)) return undefined
  const groups = parseIpv6Groups(address)
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high = 0, low = 0] = groups.slice(6)
    return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  }
  return groups.map((group) => group.toString(16)).join(':')
}

/** Parses any spelling of a valid IPv6 address into its eight 16-bit groups. */
function parseIpv6Groups(address: string): number[] {
  // The URL parser writes every spelling in the same form: hexadecimal groups, with at most one `::`.
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = '', tail] = canonical.split('::')
  const parse = (part: string) =>
    part
      .split(':')
      .filter(Boolean)
      .map((group) => Number.parseInt(group, 16))
  const [leftGroups, rightGroups] = [parse(head), parse(tail ?? '')]
  return [...leftGroups, ...Array<number>(8 - leftGroups.length - rightGroups.length).fill(0), ...rightGroups]
}

/**
 * Lists the networks for which limits count an address, narrowest first: an IPv4 address itself; or an IPv6 address's
 * /64 and, with four times the allowance, its /48. One subscriber may control all addresses of such a network.
 *
 * @throws {TypeError} for text that is not an address
 */
export function listNetworks(address: string): { network: string; allowance: number }[] {
  const normalized = normalizeAddress(address)
  if (normalized === undefined) throw new TypeError('not an IP address')
  if (isIPv4(normalized)) return [{ network: normalized, allowance: 1 }]
  const groups = parseIpv6Groups(normalized).map((group) => group.toString(16))
  return [
    { network: `${groups.slice(0, 4).join(':')}::/64`, allowance: 1 },
    { network: `${groups.slice(0, 3).join(':')}::/48`, allowance: 4 },
  ]
}
