export const APP_NAMES = ['auth', 'resource'] as const
/** What runs, scales and is deployed by itself. */
export type AppName = (typeof APP_NAMES)[number]

/**
 * Which app answers which public path. A path that ends in `/*` covers everything below it. The
 * first match counts; what no line names belongs to `resource`. Gateways and launchers are checked against it.
 */
export const PATHS: readonly { readonly path: string; readonly app: AppName }[] = [
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

/** @param path of a request, without its query, as it was sent */
export function appFor(path: string): AppName {
  const covers = (pattern: string) =>
    pattern.endsWith('/*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern
  return PATHS.find((entry) => covers(entry.path))?.app ?? 'resource'
}
