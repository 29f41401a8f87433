import { describe, expect, test } from 'vitest'
import { startService } from '../../test/start-service.ts'
import { Problem } from '../problems/problem.ts'
import { handleCrossOrigin } from './cross-origin.ts'

const GOOD = 'https://app.example'
const EVIL = 'https://evil.example'

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

const ask = async (path: string, method: string, headers: Record<string, string>, allowed?: string[]) => {
  await using service = await start(allowed)
  const response = await fetch(`${service.url}${path}`, { method, headers, redirect: 'manual' })
  await response.arrayBuffer()
  return response
}
const grants = (response: Response) =>
  Object.fromEntries([...response.headers].filter(([name]) => name.startsWith('access-control-')))

describe('a public GET', () => {
  test.for([EVIL, 'null', GOOD, undefined])('may be read by a script of %s', async (origin) => {
    const response = await ask('/public', 'GET', origin ? { origin } : {}, [GOOD])
    expect(response.status).toBe(200)
    expect(grants(response)).toEqual({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': expect.any(String),
    })
    for (const name of ['WWW-Authenticate', 'Retry-After', 'RateLimit', 'RateLimit-Policy', 'X-Request-Id']) {
      expect(response.headers.get('access-control-expose-headers')?.split(', ')).toContain(name)
    }
  })

  test('may be read when it fails or is 404', async () => {
    for (const path of ['/public/fails', '/public-404/fails']) {
      const response = await ask(path, 'GET', { origin: EVIL })
      expect(response.status).toBe(429)
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
    }
  })

  test('may be sent with Authorization after a preflight', async () => {
    const response = await ask('/public', 'OPTIONS', {
      origin: EVIL,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization',
    })
    expect(response.status).toBe(204)
    expect(grants(response)).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD',
      'access-control-allow-headers': expect.stringContaining('Authorization'),
    })
    expect(response.headers.get('cache-control')).toBe('no-store')
  })
})

test('grants nothing for a GET that is not public', async () => {
  const response = await ask('/private', 'GET', { origin: EVIL })
  expect(response.status).toBe(200)
  expect(grants(response)).toEqual({})
})

test('never grants credentials', async () => {
  for (const method of ['GET', 'POST', 'OPTIONS']) {
    const headers = { origin: GOOD, 'access-control-request-method': 'POST' }
    const response = await ask('/public', method, headers, [GOOD])
    expect(response.headers.get('access-control-allow-credentials')).toBeNull()
  }
})

describe('a public POST', () => {
  test.for([EVIL, 'null', GOOD])('may be sent and read by a script of %s', async (origin) => {
    const headers = { origin, 'sec-fetch-site': 'cross-site' }
    const response = await ask('/public/question', 'POST', headers, [GOOD])
    expect(response.status).toBe(200)
    expect(grants(response)).toMatchObject({ 'access-control-allow-origin': '*' })
    expect(response.headers.get('access-control-allow-credentials')).toBeNull()
  })

  test('is granted by a preflight, unlike other methods on its path', async () => {
    const preflight = async (method: string) =>
      grants(
        await ask('/public/question', 'OPTIONS', { origin: EVIL, 'access-control-request-method': method }),
      )
    expect(await preflight('POST')).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'POST',
    })
    expect(await preflight('DELETE')).toEqual({})
    const response = await ask('/public/question', 'DELETE', { origin: EVIL, 'sec-fetch-site': 'cross-site' })
    expect(response.status).toBe(403)
  })
})

describe('a POST', () => {
  test('is granted to a configured origin and varies with it', async () => {
    const response = await ask('/write', 'POST', { origin: GOOD, 'sec-fetch-site': 'cross-site' }, [GOOD])
    expect(response.status).toBe(200)
    expect(response.headers.get('access-control-allow-origin')).toBe(GOOD)
    expect(response.headers.get('vary')).toBe('Origin')
  })

  test('that fails grants access too, so that the origin can read why', async () => {
    const response = await ask('/write/fails', 'POST', { origin: GOOD }, [GOOD])
    expect(response.status).toBe(429)
    expect(response.headers.get('access-control-allow-origin')).toBe(GOOD)
    expect(response.headers.get('vary')).toContain('Origin')
  })

  test.for([
    EVIL,
    'null',
    'https://good.example.evil',
    `${GOOD}.evil.example`,
    `${GOOD}:8443`,
    'http://app.example',
    GOOD.toUpperCase(),
  ])('from a page of %s is refused before anything is done', async (origin) => {
    for (const method of ['POST', 'DELETE', 'PUT']) {
      const response = await ask('/write', method, { origin, 'sec-fetch-site': 'cross-site' }, [GOOD])
      expect(response.status).toBe(403)
      expect(grants(response)).toEqual({})
    }
  })

  test('is refused by Sec-Fetch-Site alone, also on paths with public GETs', async () => {
    expect((await ask('/public', 'POST', { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
  })

  test.for(['same-origin', 'same-site', 'none', undefined])(
    'with Sec-Fetch-Site %s is let through',
    async (site) => {
      const response = await ask(
        '/write',
        'POST',
        site ? { 'sec-fetch-site': site, origin: EVIL } : { origin: EVIL },
      )
      expect(response.status).toBe(200)
      expect(grants(response)).toEqual({})
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
    const response = await ask('/public', 'OPTIONS', headers, [GOOD])
    expect(response.status).toBe(204)
    expect(grants(response)).toEqual({})
  })

  test('of a configured origin lists what it may send', async () => {
    const headers = { origin: GOOD, 'access-control-request-method': 'POST' }
    expect(grants(await ask('/write', 'OPTIONS', headers, [GOOD]))).toMatchObject({
      'access-control-allow-origin': GOOD,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': expect.stringContaining('Idempotency-Key'),
    })
  })

  test('never reaches a handler, unlike other OPTIONS requests', async () => {
    const preflight = await ask('/write/fails', 'OPTIONS', {
      origin: EVIL,
      'access-control-request-method': 'GET',
    })
    expect(preflight.status).toBe(204)
    expect((await ask('/write/fails', 'OPTIONS', { origin: EVIL })).status).toBe(429)
  })

  test('echoes nothing from the request', async () => {
    const headers = {
      origin: EVIL,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'x-canary',
    }
    const response = await ask('/public', 'OPTIONS', headers)
    expect(JSON.stringify([...response.headers])).not.toMatch(/x-canary|evil/)
  })
})
