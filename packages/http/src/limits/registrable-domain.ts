import { getDomain } from 'tldts'

/**
 * Returns the registrable domain of a host: its public suffix with the label before it, such as `example.co.uk` for
 * `agent.example.co.uk`, without a dot at the end. For a host without one (a public suffix, a single label or an IP
 * address), returns the host unchanged. The private section of the public suffix list counts too, so `one.github.io` and
 * `two.github.io` are two domains. Host names are not validated: a host with an invalid label, such as `a-.example.org`,
 * can resolve in DNS, and would otherwise count as a domain of its own.
 *
 * @param host in lower case, as in `URL.hostname`
 */
export const getRegistrableDomain = (host: string): string =>
  getDomain(host, { allowPrivateDomains: true, extractHostname: false, validateHostname: false }) ?? host
