/** Where the authorization response of an app goes: a website, a program on the person's computer, or one that opens a scheme. */
export type AppPlace =
  | { readonly kind: 'site'; readonly host: string }
  | { readonly kind: 'computer' }
  | { readonly kind: 'scheme'; readonly scheme: string }

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Returns where a redirect URI leads, as it is stored: a host with its port if that is not 443, `loopback`, or a scheme
 * with its colon such as `cursor:`.
 *
 * @param redirectUri an absolute URI that was accepted for the client
 * @throws {TypeError} for text that is not one
 */
export function appHostOf(redirectUri: string): string {
  const { protocol, host, hostname } = new URL(redirectUri)
  if (LOOPBACK.has(hostname) && protocol === 'http:') return 'loopback'
  return protocol === 'https:' ? host : protocol
}

/** Reads what `appHostOf` returned. No host is `loopback`, since each has a dot, or ends in a colon. */
export function parseAppHost(appHost: string): AppPlace {
  if (appHost === 'loopback') return { kind: 'computer' }
  return appHost.endsWith(':') ? { kind: 'scheme', scheme: appHost } : { kind: 'site', host: appHost }
}
