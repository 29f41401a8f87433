import { getDomain } from 'tldts'

/**
 * Returns the domain that was registered for a host: one label below its public suffix, such as `example.co.uk` for
 * `agent.example.co.uk`. Suffixes under which a company lets the public register count (the private section of the public
 * suffix list), so `one.github.io` and `two.github.io` are two domains. A host without such a domain is its own: a public
 * suffix, or an IP address. Not a host with an invalid label, such as `a-.example.org`: such hosts resolve, and would each be a
 * domain of its own.
 *
 * @param host in lower case, as `URL.hostname` has it
 */
export const registrableDomain = (host: string): string =>
  getDomain(host, { allowPrivateDomains: true, extractHostname: false, validateHostname: false }) ?? host
