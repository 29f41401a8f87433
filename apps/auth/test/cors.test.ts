import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asAgent, GRANT, type Registered, register } from './agent-client.ts'
import { type HttpResponse, send } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

const OURS = 'https://app.example'
const grants = ({ headers }: HttpResponse) =>
  [...headers.keys()].filter((name) => name.startsWith('access-control'))

let auth: RunningAuth
let agent: Registered
beforeAll(async () => {
  auth = await startAuth({ env: { AUTH_CORS_ORIGINS: OURS } })
  agent = await register(auth)
})
afterAll(() => auth[Symbol.asyncDispose]())

const post = (path: string, origin: string, headers: Record<string, string> = asAgent(agent)) =>
  send(auth.url, {
    method: 'POST',
    path,
    headers: { origin, 'sec-fetch-site': 'cross-site', ...headers },
    body: new URLSearchParams({ ...GRANT, token: 'x' }),
  })

describe.for(['/oauth/token', '/oauth/revoke'])('%s', (path) => {
  test('allows scripts of the configured origin to read responses, also errors', async () => {
    const [granted, refused] = [await post(path, OURS), await post(path, OURS, {})]
    expect([granted.status, refused.status]).toEqual([200, 401])
    for (const { headers } of [granted, refused]) {
      expect(headers.get('access-control-allow-origin')).toBe(OURS)
      expect(headers.get('access-control-expose-headers')).toMatch(
        /Retry-After, WWW-Authenticate, X-Request-Id/,
      )
      expect(headers.get('access-control-allow-credentials')).toBeNull()
      expect(headers.get('vary')).toContain('Origin')
    }
  })

  test.for(['https://evil.example', 'null', `${OURS}.evil.example`, 'http://app.example', `${OURS}:8443`])(
    'not by those of %s',
    async (origin) => {
      const response = await post(path, origin)
      expect(response.status).toBe(403)
      expect(grants(response)).toEqual([])
    },
  )

  test('allows them in the preflight response', async () => {
    const request = (origin: string, method = 'POST') =>
      send(auth.url, {
        method: 'OPTIONS',
        path,
        headers: { origin, 'access-control-request-method': method },
      })
    const [ours, theirs] = [await request(OURS), await request('https://evil.example')]
    expect([ours.status, theirs.status]).toEqual([204, 204])
    expect(ours.headers.get('access-control-allow-origin')).toBe(OURS)
    expect(ours.headers.get('access-control-allow-headers')).toContain('Authorization')
    expect(grants(theirs)).toEqual([])
  })
})
