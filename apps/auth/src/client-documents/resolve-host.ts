import { Resolver } from 'node:dns/promises'

/** Resolves a host name to its addresses. The list is empty if it has none, or if no name server responds. */
export type ResolveHost = (host: string, signal: AbortSignal) => Promise<readonly string[]>

/**
 * Creates the function that resolves a host only by DNS: neither the hosts file nor a search domain can lead to a host
 * in our own network. Unlike `dns.lookup`, it occupies no thread while a name server is slow, and it stops when the
 * signal aborts.
 *
 * @param servers addresses of name servers, with ports; by default the name servers of this machine
 */
export const createDnsResolver =
  (servers?: readonly string[]): ResolveHost =>
  async (host, signal) => {
    const resolver = new Resolver({ timeout: 500, tries: 2 })
    if (servers) resolver.setServers(servers)
    const cancel = () => resolver.cancel()
    signal.addEventListener('abort', cancel)
    try {
      const lookups = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
      return lookups.flatMap((lookup) => (lookup.status === 'fulfilled' ? lookup.value : []))
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
