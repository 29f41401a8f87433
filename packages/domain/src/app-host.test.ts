import { expect, test } from 'vitest'
import { formatAppHost, parseAppHost } from './app-host.ts'

test.for([
  ['https://claude.ai/api/mcp/auth_callback', 'claude.ai', { kind: 'site', host: 'claude.ai' }],
  [
    'https://xn--e1awd7f.example:8443/cb',
    'xn--e1awd7f.example:8443',
    { kind: 'site', host: 'xn--e1awd7f.example:8443' },
  ],
  ['http://localhost:52163/callback', 'loopback', { kind: 'loopback' }],
  ['http://127.0.0.1/', 'loopback', { kind: 'loopback' }],
  ['http://[::1]:3118/callback', 'loopback', { kind: 'loopback' }],
  ['cursor://anysphere.cursor-mcp/oauth/callback', 'cursor:', { kind: 'scheme', scheme: 'cursor:' }],
  // Near misses of loopback: another scheme, and a host that only begins with `localhost`.
  ['cursor://localhost/oauth/callback', 'cursor:', { kind: 'scheme', scheme: 'cursor:' }],
  ['http://localhost.example/callback', 'http:', { kind: 'scheme', scheme: 'http:' }],
] as const)('formats %s as %s, and parses the result', ([uri, appHost, destination]) => {
  expect(formatAppHost(uri)).toBe(appHost)
  expect(parseAppHost(appHost)).toEqual(destination)
})
