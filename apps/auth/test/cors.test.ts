import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentAuthHeader, CLIENT_CREDENTIALS_GRANT, type RegisteredAgent, register } from './agent-client.ts'
import { type HttpResponse, send } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

const ALLOWED_ORIGIN = 'https://app.example'
const listCorsHeaders = ({ headers }: HttpResponse) =>
  [...headers.keys()].filter((name) => name.startsWith('access-control'))

let auth: RunningAuth
let agent: RegisteredAgent
beforeAll(async () => {
  auth = await startAuth({ env: { AUTH_CORS_ORIGINS: ALLOWED_ORIGIN } })
  agent = await register(auth)
})
afterAll(() => auth[Symbol.asyncDispose]())

const post = (path: string, origin: string, headers: Record<string, string> = agentAuthHeader(agent)) =>
  send(auth.url, {
    method: 'POST',
    path,
    headers: { origin, 'sec-fetch-site': 'cross-site', ...headers },
    body: new URLSearchParams({ ...CLIENT_CREDENTIALS_GRANT, token: 'x' }),
  })

describe.for(['/oauth/token', '/oauth/revoke'])('%s', (path) => {
  test('allows scripts of the configured origin to read responses, including errors', async () => {
    const [granted, refusal] = [await post(path, ALLOWED_ORIGIN), await post(path, ALLOWED_ORIGIN, {})]
    expect([granted.status, refusal.status]).toEqual([200, 401])
    for (const { headers } of [granted, refusal]) {
      expect(headers.get('access-control-allow-origin')).toBe(ALLOWED_ORIGIN)
      expect(headers.get('access-control-expose-headers')).toMatch(
        /Retry-After, WWW-Authenticate, X-Request-Id/,
      )
      expect(headers.get('access-control-allow-credentials')).toBeNull()
      expect(headers.get('vary')).toContain('Origin')
    }
  })

  // Some of these origins differ from the allowed one only in a suffix, the scheme or the port. A sandboxed frame sends `null`.
  test.for([
    'https://evil.example',
    'null',
    `${ALLOWED_ORIGIN}.evil.example`,
    'http://app.example',
    `${ALLOWED_ORIGIN}:8443`,
  ])('refuses requests from scripts of %s, without CORS headers', async (origin) => {
    const response = await post(path, origin)
    expect(response.status).toBe(403)
    expect(listCorsHeaders(response)).toEqual([])
  })

  test('allows only the configured origin in the preflight response', async () => {
    const sendPreflight = (origin: string) =>
      send(auth.url, {
        method: 'OPTIONS',
        path,
        headers: { origin, 'access-control-request-method': 'POST' },
      })
    const allowedPreflight = await sendPreflight(ALLOWED_ORIGIN)
    const refusedPreflight = await sendPreflight('https://evil.example')
    expect([allowedPreflight.status, refusedPreflight.status]).toEqual([204, 204])
    expect(allowedPreflight.headers.get('access-control-allow-origin')).toBe(ALLOWED_ORIGIN)
    expect(allowedPreflight.headers.get('access-control-allow-headers')).toContain('Authorization')
    expect(listCorsHeaders(refusedPreflight)).toEqual([])
  })
})
