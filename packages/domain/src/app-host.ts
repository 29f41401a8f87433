/** The destination of an authorization response: a website, a program on the person's computer, or the program for a URL scheme. */
export type AppDestination =
  | { readonly kind: 'site'; readonly host: string }
  | { readonly kind: 'computer' }
  | { readonly kind: 'scheme'; readonly scheme: string }

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Formats the destination of a redirect URI for storage: a host, with its port unless that is 443; `loopback`; or a scheme with its
 * colon, such as `cursor:`.
 *
 * @param redirectUri an absolute URI that was accepted for the client
 * @throws {TypeError} for text that is not an absolute URI
 */
export function formatAppHost(redirectUri: string): string {
  const { protocol, host, hostname } = new URL(redirectUri)
  if (LOOPBACK.has(hostname) && protocol === 'http:') return 'loopback'
  return protocol === 'https:' ? host : protocol
}

/** Parses the result of `formatAppHost`. A public host has a dot, so it is not `loopback`, and no host ends with a colon. */
export function parseAppHost(appHost: string): AppDestination {
  if (appHost === 'loopback') return { kind: 'computer' }
  return appHost.endsWith(':') ? { kind: 'scheme', scheme: appHost } : { kind: 'site', host: appHost }
}
