/**
 * The destination of an authorization response: a website, a program that listens on loopback on the person's computer, or the
 * program that opens links with a custom URL scheme.
 */
export type AppDestination =
  | { readonly kind: 'site'; readonly host: string }
  | { readonly kind: 'loopback' }
  | { readonly kind: 'scheme'; readonly scheme: string }

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Formats the destination of a redirect URI as an "app host", the stored text of an `AppDestination`: for https, the host, with its
 * port unless that is 443; for http on a loopback host, `loopback`; otherwise the scheme with its colon, such as `cursor:`. So only
 * the first of the three forms is a host.
 *
 * @param redirectUri a redirect URI of the client that `validateRedirectUri` accepted
 * @throws {TypeError} for text that is not an absolute URI
 */
export function formatAppHost(redirectUri: string): string {
  const { protocol, host, hostname } = new URL(redirectUri)
  if (LOOPBACK.has(hostname) && protocol === 'http:') return 'loopback'
  return protocol === 'https:' ? host : protocol
}

/**
 * Parses the result of `formatAppHost`. The three forms do not collide: no public host is named `loopback`, and no host ends with a
 * colon.
 */
export function parseAppHost(appHost: string): AppDestination {
  if (appHost === 'loopback') return { kind: 'loopback' }
  return appHost.endsWith(':') ? { kind: 'scheme', scheme: appHost } : { kind: 'site', host: appHost }
}
