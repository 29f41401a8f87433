import { expect, test } from 'vitest'
import { converse, formatHead } from '../../test/raw-http.ts'
import { startService } from '../../test/start-service.ts'
import { requireHost } from './request-context.ts'

/** Starts a service that returns the path of each request that `requireHost` accepts. */
const start = (origin: string, alsoAccept: string[] = []) =>
  startService({
    origin,
    use: [
      requireHost(origin, alsoAccept),
      async (ctx) => {
        ctx.body = { path: ctx.path }
      },
    ],
  })

const HTTPS_ORIGIN = 'https://plainpath.example'

/** Sends a request to a new service. */
const send = async (origin: string, lines: string[], alsoAccept?: string[]) => {
  await using service = await start(origin, alsoAccept)
  const { responses } = await converse(service.port, formatHead(...lines), { responses: 1 })
  const { status = 0, body = '{}' } = responses[0] ?? {}
  return { status, body: JSON.parse(body) as { path?: string; code?: string; detail?: string } }
}

test.for([
  { origin: HTTPS_ORIGIN, host: 'plainpath.example' },
  { origin: HTTPS_ORIGIN, host: 'PlainPath.Example' },
  { origin: HTTPS_ORIGIN, host: 'plainpath.example:443' },
  { origin: 'http://localhost:8080', host: 'localhost:8080' },
  { origin: 'http://localhost', host: 'localhost:80' },
  { origin: 'http://[::1]:8080', host: '[::1]:8080' },
])('a service at $origin accepts Host: $host', async ({ origin, host }) => {
  expect((await send(origin, ['GET /a HTTP/1.1', `Host: ${host}`])).body).toEqual({ path: '/a' })
})

test.for([
  { origin: HTTPS_ORIGIN, host: 'evil.example' },
  { origin: HTTPS_ORIGIN, host: 'plainpath.example.evil.example' },
  { origin: HTTPS_ORIGIN, host: 'evil-plainpath.example' },
  { origin: HTTPS_ORIGIN, host: 'plainpath.example:80' },
  { origin: HTTPS_ORIGIN, host: 'plainpath.example:8443' },
  { origin: HTTPS_ORIGIN, host: 'plainpath.example:' },
  { origin: HTTPS_ORIGIN, host: 'plainpath.example:0' },
  { origin: HTTPS_ORIGIN, host: 'plainpath.example:99999' },
  { origin: HTTPS_ORIGIN, host: 'plainpath.example.' },
  { origin: HTTPS_ORIGIN, host: '127.0.0.1' },
  { origin: HTTPS_ORIGIN, host: '[::1]' },
  { origin: 'http://localhost:8080', host: 'localhost' },
  { origin: 'http://localhost:8080', host: 'localhost:80' },
])('a service at $origin refuses Host: $host (421) and names its origin', async ({ origin, host }) => {
  const { status, body } = await send(origin, ['GET /a HTTP/1.1', `Host: ${host}`])
  expect(status).toBe(421)
  expect(body).toMatchObject({ code: 'misdirected-request', detail: expect.stringContaining(origin) })
})

test.for([
  { defect: 'no Host', lines: ['GET / HTTP/1.1'] },
  { defect: 'no Host in HTTP/1.0', lines: ['GET / HTTP/1.0'] },
  { defect: 'two Host headers', lines: ['GET / HTTP/1.1', 'Host: plainpath.example', 'Host: evil.example'] },
  {
    defect: 'the same Host twice',
    lines: ['GET / HTTP/1.1', 'Host: plainpath.example', 'host: plainpath.example'],
  },
  { defect: 'an empty Host', lines: ['GET / HTTP/1.1', 'Host:'] },
  { defect: 'a space in Host', lines: ['GET / HTTP/1.1', 'Host: a b'] },
  { defect: 'half an IPv6 address as Host', lines: ['GET / HTTP/1.1', 'Host: [::1'] },
  { defect: 'userinfo in Host', lines: ['GET / HTTP/1.1', 'Host: user@plainpath.example'] },
  {
    defect: 'userinfo in Host that hides the real host',
    lines: ['GET / HTTP/1.1', 'Host: plainpath.example@evil.example'],
  },
  {
    defect: 'a list of two hosts in Host',
    lines: ['GET / HTTP/1.1', 'Host: plainpath.example, evil.example'],
  },
  { defect: 'a path in Host', lines: ['GET / HTTP/1.1', 'Host: plainpath.example/'] },
  { defect: 'a scheme in Host', lines: ['GET / HTTP/1.1', 'Host: https://plainpath.example'] },
])('refuses a request with $defect (400)', async ({ lines }) => {
  const { status, body } = await send(HTTPS_ORIGIN, lines)
  expect(status).toBe(400)
  expect(body.code).toBe('invalid-request')
})

test.for([
  'http://evil.example/a',
  'http://user@plainpath.example/a',
  'http://plainpath.example@evil.example/a',
  'http://plainpath.example.evil.example',
  'https://[::1/a',
  'http:///a',
  'ftp://evil.example/a',
  'HTTP://EVIL.example/a',
])('refuses the target %s despite a valid Host (400 or 421)', async (target) => {
  const { status } = await send(HTTPS_ORIGIN, [`GET ${target} HTTP/1.1`, 'Host: plainpath.example'])
  // Node may refuse a malformed target itself (400).
  expect([400, 421]).toContain(status)
})

test.for([
  { target: 'https://plainpath.example/a?b', path: '/a' },
  { target: 'http://PLAINPATH.example', path: '/' },
  { target: 'http://plainpath.example?x', path: '/' },
  { target: '//evil.example/a', path: '//evil.example/a' },
])('reads the target $target as the path $path', async ({ target, path }) => {
  expect((await send(HTTPS_ORIGIN, [`GET ${target} HTTP/1.1`, 'Host: plainpath.example'])).body).toEqual({
    path,
  })
})

test('refuses a foreign Host despite a valid target', async () => {
  const { status } = await send(HTTPS_ORIGIN, [
    'GET https://plainpath.example/ HTTP/1.1',
    'Host: evil.example',
  ])
  expect(status).toBe(421)
})

test('accepts other configured authorities, and names the origin when it refuses an unlisted host', async () => {
  const otherHosts = ['127.0.0.1:8080', '[::1]:8080']
  for (const host of otherHosts) {
    const lines = ['GET / HTTP/1.1', `Host: ${host}`]
    expect((await send('http://localhost:8080', lines, otherHosts)).status).toBe(200)
  }
  const lines = ['GET / HTTP/1.1', 'Host: 127.0.0.1']
  const { status, body } = await send('http://localhost:8080', lines, otherHosts)
  expect(status).toBe(421)
  expect(body.detail).toContain('http://localhost:8080')
})

test('ignores X-Forwarded-Host, Forwarded and X-Original-URL', async () => {
  const forged = ['X-Forwarded-Host: evil.example', 'Forwarded: host=evil.example', 'X-Original-URL: /b']
  expect((await send(HTTPS_ORIGIN, ['GET /a HTTP/1.1', 'Host: plainpath.example', ...forged])).body).toEqual({
    path: '/a',
  })
  const { status } = await send(HTTPS_ORIGIN, [
    'GET /a HTTP/1.1',
    'Host: evil.example',
    'X-Forwarded-Host: plainpath.example',
  ])
  expect(status).toBe(421)
})
