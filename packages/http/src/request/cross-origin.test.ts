import { describe, expect, test } from 'vitest'
import { startService } from '../../test/start-service.ts'
import { Problem } from '../problems/problem.ts'
import { handleCrossOrigin } from './cross-origin.ts'

const ALLOWED = 'https://app.example'
const EVIL = 'https://evil.example'

/**
 * Starts a service. Any origin may GET the paths that begin with `/public`, and POST to `/public/question`. Paths that end in
 * `/fails` respond with 429, and the others with 200.
 */
const start = (allowedOrigins: string[] = []) =>
  startService({
    use: [
      handleCrossOrigin({
        allowedOrigins,
        isPublicGet: (path) => path.startsWith('/public'),
        isPublicPost: (path) => path === '/public/question',
      }),
      async (ctx) => {
        if (ctx.path.endsWith('/fails'))
          throw new Problem('rate-limited', { headers: { 'retry-after': '3' } })
        ctx.body = { done: true }
      },
    ],
  })

const send = async (
  path: string,
  method: string,
  headers: Record<string, string>,
  allowedOrigins?: string[],
) => {
  await using service = await start(allowedOrigins)
  const response = await fetch(`${service.url}${path}`, { method, headers, redirect: 'manual' })
  await response.arrayBuffer()
  return response
}
const listCorsHeaders = (response: Response) =>
  Object.fromEntries([...response.headers].filter(([name]) => name.startsWith('access-control-')))

describe('a public GET', () => {
  test.for([EVIL, 'null', ALLOWED, undefined])('may be read by a script of %s', async (origin) => {
    const response = await send('/public', 'GET', origin ? { origin } : {}, [ALLOWED])
    expect(response.status).toBe(200)
    expect(listCorsHeaders(response)).toEqual({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': expect.any(String),
    })
    for (const name of ['WWW-Authenticate', 'Retry-After', 'RateLimit', 'RateLimit-Policy', 'X-Request-Id']) {
      expect(response.headers.get('access-control-expose-headers')?.split(', ')).toContain(name)
    }
  })

  test('may be read when it fails', async () => {
    for (const path of ['/public/fails', '/public-404/fails']) {
      const response = await send(path, 'GET', { origin: EVIL })
      expect(response.status).toBe(429)
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
    }
  })

  test('may be sent with Authorization after a preflight', async () => {
    const response = await send('/public', 'OPTIONS', {
      origin: EVIL,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization',
    })
    expect(response.status).toBe(204)
    expect(listCorsHeaders(response)).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD',
      'access-control-allow-headers': expect.stringContaining('Authorization'),
    })
    expect(response.headers.get('cache-control')).toBe('no-store')
  })
})

test('a GET that is not public grants no access', async () => {
  const response = await send('/private', 'GET', { origin: EVIL })
  expect(response.status).toBe(200)
  expect(listCorsHeaders(response)).toEqual({})
})

test('no response grants access with credentials', async () => {
  for (const method of ['GET', 'POST', 'OPTIONS']) {
    const headers = { origin: ALLOWED, 'access-control-request-method': 'POST' }
    const response = await send('/public', method, headers, [ALLOWED])
    expect(response.headers.get('access-control-allow-credentials')).toBeNull()
  }
})

describe('a public POST', () => {
  test.for([EVIL, 'null', ALLOWED])('may be sent and read by a script of %s', async (origin) => {
    const headers = { origin, 'sec-fetch-site': 'cross-site' }
    const response = await send('/public/question', 'POST', headers, [ALLOWED])
    expect(response.status).toBe(200)
    expect(listCorsHeaders(response)).toMatchObject({ 'access-control-allow-origin': '*' })
    expect(response.headers.get('access-control-allow-credentials')).toBeNull()
  })

  test('is granted by a preflight, unlike other methods on its path', async () => {
    const preflight = async (method: string) =>
      listCorsHeaders(
        await send('/public/question', 'OPTIONS', { origin: EVIL, 'access-control-request-method': method }),
      )
    expect(await preflight('POST')).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'POST',
    })
    expect(await preflight('DELETE')).toEqual({})
    const headers = { origin: EVIL, 'sec-fetch-site': 'cross-site' }
    const response = await send('/public/question', 'DELETE', headers)
    expect(response.status).toBe(403)
  })
})

describe('a POST', () => {
  test('is granted to a configured origin, with Vary: Origin', async () => {
    const response = await send('/write', 'POST', { origin: ALLOWED, 'sec-fetch-site': 'cross-site' }, [
      ALLOWED,
    ])
    expect(response.status).toBe(200)
    expect(response.headers.get('access-control-allow-origin')).toBe(ALLOWED)
    expect(response.headers.get('vary')).toBe('Origin')
  })

  test('that fails grants access too, so the origin can read why', async () => {
    const response = await send('/write/fails', 'POST', { origin: ALLOWED }, [ALLOWED])
    expect(response.status).toBe(429)
    expect(response.headers.get('access-control-allow-origin')).toBe(ALLOWED)
    expect(response.headers.get('vary')).toContain('Origin')
  })

  test.for([
    EVIL,
    'null',
    'https://good.example.evil',
    // From here on, origins that resemble the allowed one. Browsers send origins in lower case, so they are compared exactly.
    `${ALLOWED}.evil.example`,
    `${ALLOWED}:8443`,
    'http://app.example',
    ALLOWED.toUpperCase(),
  ])('from a page of %s is refused, as are PUT and DELETE', async (origin) => {
    for (const method of ['POST', 'DELETE', 'PUT']) {
      const response = await send('/write', method, { origin, 'sec-fetch-site': 'cross-site' }, [ALLOWED])
      expect(response.status).toBe(403)
      expect(listCorsHeaders(response)).toEqual({})
    }
  })

  test('is refused by Sec-Fetch-Site alone, even on a path with public GETs', async () => {
    expect((await send('/public', 'POST', { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
  })

  test.for(['same-origin', 'same-site', 'none', undefined])(
    'with Sec-Fetch-Site %s is accepted',
    async (site) => {
      const response = await send(
        '/write',
        'POST',
        site ? { 'sec-fetch-site': site, origin: EVIL } : { origin: EVIL },
      )
      expect(response.status).toBe(200)
      expect(listCorsHeaders(response)).toEqual({})
    },
  )
})

describe('a preflight', () => {
  test.for([
    { origin: EVIL, method: 'POST' },
    { origin: 'null', method: 'POST' },
    { origin: EVIL, method: 'DELETE' },
    { origin: EVIL, method: 'NONSENSE' },
  ])('for $method from $origin is 204 and grants nothing', async ({ origin, method }) => {
    const headers = {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'x-a, x-b',
    }
    const response = await send('/public', 'OPTIONS', headers, [ALLOWED])
    expect(response.status).toBe(204)
    expect(listCorsHeaders(response)).toEqual({})
  })

  test('of a configured origin lists what it may send', async () => {
    const headers = { origin: ALLOWED, 'access-control-request-method': 'POST' }
    expect(listCorsHeaders(await send('/write', 'OPTIONS', headers, [ALLOWED]))).toMatchObject({
      'access-control-allow-origin': ALLOWED,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': expect.stringContaining('Idempotency-Key'),
    })
  })

  test('does not reach the handler, unlike other OPTIONS requests', async () => {
    const preflight = await send('/write/fails', 'OPTIONS', {
      origin: EVIL,
      'access-control-request-method': 'GET',
    })
    expect(preflight.status).toBe(204)
    expect((await send('/write/fails', 'OPTIONS', { origin: EVIL })).status).toBe(429)
  })

  test('echoes nothing from the request', async () => {
    const headers = {
      origin: EVIL,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'x-canary',
    }
    const response = await send('/public', 'OPTIONS', headers)
    expect(JSON.stringify([...response.headers])).not.toMatch(/x-canary|evil/)
  })
})
