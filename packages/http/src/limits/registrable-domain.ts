import { getDomain } from 'tldts'

/**
 * Returns the registrable domain of a host: its public suffix with the label before it, such as `example.co.uk` for
 * `agent.example.co.uk`. The private section of the public suffix list counts too, so `one.github.io` and
 * `two.github.io` are two domains. For a public suffix, a single label or an IP address, returns the host itself. Host
 * names are not validated: a host with an invalid label, such as `a-.example.org`, can resolve, and must not count as a
 * domain of its own.
 *
 * @param host in lower case, as in `URL.hostname`
 */
export const findRegistrableDomain = (host: string): string =>
  getDomain(host, { allowPrivateDomains: true, extractHostname: false, validateHostname: false }) ?? host
