import { describe, expect, test } from 'vitest'
import { isRedirectUriOf } from './app-client.ts'

/*
 * oidc-provider compares the redirect URI of an authorization request as well, so over HTTP a mistake here would not show.
 */

const SITE = 'https://claude.ai/api/mcp/auth_callback'
const PROGRAM = 'http://127.0.0.1:3118/callback'

const accepts = (known: string, uri: string) =>
  isRedirectUriOf({ redirectUris: ['https://other.example/', known] }, uri)

describe('the redirect URI of a site', () => {
  test('is exactly one of the app', () => {
    expect(accepts(SITE, SITE)).toBe(true)
    expect(isRedirectUriOf({ redirectUris: [] }, SITE)).toBe(false)
  })

  test.for([
    `${SITE}/`,
    `${SITE}2`,
    `${SITE}?next=https://evil.example`,
    `${SITE}#x`,
    ` ${SITE}`,
    SITE.slice(0, -1),
    SITE.toUpperCase(),
    SITE.replace('https', 'http'),
    SITE.replace('claude.ai', 'claude.ai:443'),
    SITE.replace('claude.ai', 'claude.ai.evil.example'),
    SITE.replace('claude.ai', 'user@claude.ai'),
    '',
  ])('is not %j', (uri) => {
    expect(accepts(SITE, uri)).toBe(false)
  })
})

describe('the redirect URI of a program', () => {
  test.for([PROGRAM, 'http://127.0.0.1:1/callback', 'http://127.0.0.1:65535/callback'])(
    'may be %s, on any port',
    (uri) => {
      expect(accepts(PROGRAM, uri)).toBe(true)
      expect(accepts('http://127.0.0.1/callback', uri)).toBe(true)
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
  ])('is not %s', (uri) => {
    expect(accepts(PROGRAM, uri)).toBe(false)
  })

  test('has no other port where it is not on loopback', () => {
    expect(accepts('http://10.0.0.1:3118/callback', 'http://10.0.0.1:3119/callback')).toBe(false)
  })
})
