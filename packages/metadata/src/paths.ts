export const APP_NAMES = ['auth', 'resource'] as const
/**
 * An app that is deployed and scaled independently: `auth` is the authorization server, and `resource` serves the API and the
 * website.
 */
export type AppName = (typeof APP_NAMES)[number]

/**
 * The app that serves each public path. A path that ends in `/*` covers everything below it, and the first match counts. The
 * system tests compare the gateway's configuration with this table.
 */
export const APP_PATHS: readonly { readonly path: string; readonly app: AppName }[] = [
  { path: '/oauth/*', app: 'auth' },
  { path: '/.well-known/oauth-authorization-server', app: 'auth' },
  { path: '/.well-known/openid-configuration', app: 'auth' },
  { path: '/auth.md', app: 'auth' },
  { path: '/auth/*', app: 'auth' },
  { path: '/claim', app: 'auth' },
  { path: '/api/agent', app: 'auth' },
  { path: '/api/agent/*', app: 'auth' },
  { path: '/*', app: 'resource' },
]

/**
 * Returns the app that serves a path.
 *
 * @param path the path in the request, without the query
 */
export function findAppForPath(path: string): AppName {
  const covers = (pattern: string) =>
    pattern.endsWith('/*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern
  // Only a target without a leading slash, such as `*`, has no entry.
  return APP_PATHS.find((entry) => covers(entry.path))?.app ?? 'resource'
}
