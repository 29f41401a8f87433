import { describe, expect, test } from 'vitest'
import { acceptsRedirectUri } from './app-client.ts'

/*
 * These are unit tests, because oidc-provider also compares the redirect URI of an authorization request, so a test over
 * HTTP would not notice a mistake in our comparison.
 */

const WEB_URI = 'https://claude.ai/api/mcp/auth_callback'
const LOOPBACK_URI = 'http://127.0.0.1:3118/callback'

const isAccepted = (registered: string, uri: string) =>
  acceptsRedirectUri({ redirectUris: ['https://other.example/', registered] }, uri)

describe('acceptsRedirectUri, for a web redirect URI,', () => {
  test('accepts exactly the registered URI', () => {
    expect(isAccepted(WEB_URI, WEB_URI)).toBe(true)
    expect(acceptsRedirectUri({ redirectUris: [] }, WEB_URI)).toBe(false)
  })

  test.for([
    `${WEB_URI}/`,
    `${WEB_URI}2`,
    `${WEB_URI}?next=https://evil.example`,
    `${WEB_URI}#x`,
    ` ${WEB_URI}`,
    WEB_URI.slice(0, -1),
    WEB_URI.toUpperCase(),
    WEB_URI.replace('https', 'http'),
    WEB_URI.replace('claude.ai', 'claude.ai:443'),
    WEB_URI.replace('claude.ai', 'claude.ai.evil.example'),
    WEB_URI.replace('claude.ai', 'user@claude.ai'),
    '',
  ])('refuses %j', (uri) => {
    expect(isAccepted(WEB_URI, uri)).toBe(false)
  })
})

describe('acceptsRedirectUri, for a loopback redirect URI,', () => {
  test.for([LOOPBACK_URI, 'http://127.0.0.1:1/callback', 'http://127.0.0.1:65535/callback'])(
    'accepts any explicit port: %s',
    (uri) => {
      expect(isAccepted(LOOPBACK_URI, uri)).toBe(true)
      expect(isAccepted('http://127.0.0.1/callback', uri)).toBe(true)
    },
  )

  test.for([
    // No port: only an exact match is accepted.
    'http://127.0.0.1/callback',
    'http://127.0.0.1:3118/callback/',
    'http://127.0.0.1:3118/other',
    'http://127.0.0.1:3118/callback?x=1',
    'http://127.0.0.1:x/callback',
    'http://127.0.0.1:1@evil.example/callback',
    'http://127.0.0.1.evil.example:3118/callback',
    'http://localhost:3118/callback',
    'https://127.0.0.1:3118/callback',
    'http://127.0.0.2:3118/callback',
  ])('refuses %s', (uri) => {
    expect(isAccepted(LOOPBACK_URI, uri)).toBe(false)
  })

  test('refuses another port for a host that is not loopback', () => {
    expect(isAccepted('http://10.0.0.1:3118/callback', 'http://10.0.0.1:3119/callback')).toBe(false)
  })
})
