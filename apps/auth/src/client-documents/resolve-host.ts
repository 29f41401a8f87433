import { Resolver } from 'node:dns/promises'

/** Resolves the name of a host to all of its addresses; to none when there are none or nothing answers. */
export type ResolveHost = (host: string, signal: AbortSignal) => Promise<readonly string[]>

/**
 * Creates the function that resolves a host by DNS alone: neither the hosts file nor a search domain can turn the name into one
 * of our own network. Unlike `dns.lookup` it occupies no thread while a name server is slow, and it ends when the signal aborts.
 *
 * @param servers addresses of name servers, with ports; those of this machine by default
 */
export const dnsResolver =
  (servers?: readonly string[]): ResolveHost =>
  async (host, signal) => {
    const resolver = new Resolver({ timeout: 500, tries: 2 })
    if (servers) resolver.setServers(servers)
    const cancel = () => resolver.cancel()
    signal.addEventListener('abort', cancel)
    try {
      const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
      return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
