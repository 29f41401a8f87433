import { expect, test } from 'vitest'
import { APP_PATHS, findAppForPath } from './paths.ts'

/**
 * The expected paths are listed here independently of `APP_PATHS`, because moving a path breaks its callers. Some of them have no
 * route, such as `/oauth/Token`: everything below an entry such as `/oauth/*` belongs to auth.
 */
const AUTH_PATHS = [
  '/oauth/token',
  '/oauth/revoke',
  '/oauth/jwks.json',
  '/oauth/authorize',
  '/oauth/authorize/an-interaction',
  '/oauth/register',
  '/oauth/sign-in/an-interaction',
  '/oauth/introspect',
  '/oauth/token/',
  '/oauth/Token',
  '/oauth/',
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
  '/auth.md',
  '/auth/keys.md',
  '/auth/domain.md',
  '/auth/dpop.md',
  '/auth/',
  '/api/agent',
  '/api/agent/register',
  '/api/agent/claim/complete',
  '/api/agent/secrets/1',
  '/claim',
]
/** Includes paths that nearly match an entry of auth, such as `/claims`, and the request target `*` of `OPTIONS *`. */
const RESOURCE_PATHS = [
  '/',
  '',
  '/api',
  '/api/health',
  '/api/guides',
  '/api/guides/agent',
  '/api/agents',
  '/api/agent-x',
  '/api/waitlist',
  '/api/contact/1',
  '/api/mcp',
  '/mcp',
  '/openapi.json',
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/api',
  '/.well-known/oauth-protected-resource/api/mcp',
  '/.well-known/oauth-protected-resource/mcp',
  '/.well-known/oauth-authorization-server/api',
  '/.well-known/api-catalog',
  '/.well-known/security.txt',
  '/robots.txt',
  '/guides/claim',
  '/docs',
  '/contact',
  '/waitlist',
  '/problems/not-found',
  '/claims',
  '/oauth',
  '/oauthx',
  '/auth.md/',
  '/auth',
  '*',
]

test.for(AUTH_PATHS)('auth serves %s', (path) => {
  expect(findAppForPath(path)).toBe('auth')
})
test.for(RESOURCE_PATHS)('the API serves %s', (path) => {
  expect(findAppForPath(path)).toBe('resource')
})

test.for([
  '/OAUTH/token',
  '/%6fauth/token',
  '//oauth/token',
  '/./oauth/token',
  '/x/../oauth/token',
  '/Claim',
  '/AUTH.md',
])('auth does not serve %s, because paths are compared without being normalised', (path) => {
  expect(findAppForPath(path)).toBe('resource')
})

test('no entry of the table is hidden by an earlier one, and the last assigns all other paths to the API', () => {
  APP_PATHS.forEach(({ path, app }, index) => {
    const examplePath = path.replace('*', 'example')
    const earlierPaths = APP_PATHS.slice(0, index).map((entry) => entry.path)
    expect(
      earlierPaths.some(
        (other) => other === path || (other.endsWith('/*') && examplePath.startsWith(other.slice(0, -1))),
      ),
    ).toBe(false)
    expect(findAppForPath(examplePath)).toBe(app)
  })
  expect(APP_PATHS.at(-1)).toEqual({ path: '/*', app: 'resource' })
})
