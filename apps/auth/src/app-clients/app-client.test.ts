import { describe, expect, test } from 'vitest'
import { isRedirectUriOf } from './app-client.ts'

/*
 * These are unit tests, because oidc-provider also compares the redirect URI of an authorization request, so a test over
 * HTTP would not notice a mistake in our comparison.
 */

const SITE_URI = 'https://claude.ai/api/mcp/auth_callback'
const PROGRAM_URI = 'http://127.0.0.1:3118/callback'

const isAccepted = (registered: string, uri: string) =>
  isRedirectUriOf({ redirectUris: ['https://other.example/', registered] }, uri)

describe('isRedirectUriOf, for the redirect URI of a site,', () => {
  test('accepts exactly the registered URI', () => {
    expect(isAccepted(SITE_URI, SITE_URI)).toBe(true)
    expect(isRedirectUriOf({ redirectUris: [] }, SITE_URI)).toBe(false)
  })

  test.for([
    `${SITE_URI}/`,
    `${SITE_URI}2`,
    `${SITE_URI}?next=https://evil.example`,
    `${SITE_URI}#x`,
    ` ${SITE_URI}`,
    SITE_URI.slice(0, -1),
    SITE_URI.toUpperCase(),
    SITE_URI.replace('https', 'http'),
    SITE_URI.replace('claude.ai', 'claude.ai:443'),
    SITE_URI.replace('claude.ai', 'claude.ai.evil.example'),
    SITE_URI.replace('claude.ai', 'user@claude.ai'),
    '',
  ])('refuses %j', (uri) => {
    expect(isAccepted(SITE_URI, uri)).toBe(false)
  })
})

describe('isRedirectUriOf, for the redirect URI of a program,', () => {
  test.for([PROGRAM_URI, 'http://127.0.0.1:1/callback', 'http://127.0.0.1:65535/callback'])(
    'accepts any port: %s',
    (uri) => {
      expect(isAccepted(PROGRAM_URI, uri)).toBe(true)
      expect(isAccepted('http://127.0.0.1/callback', uri)).toBe(true)
    },
  )

  test.for([
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
    expect(isAccepted(PROGRAM_URI, uri)).toBe(false)
  })

  test('refuses another port for a host that is not loopback', () => {
    expect(isAccepted('http://10.0.0.1:3118/callback', 'http://10.0.0.1:3119/callback')).toBe(false)
  })
})
