import { AgentId } from '@plainpath/domain'
import { createServiceUrls } from '@plainpath/metadata'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCachedBearerCheck } from './bearer.ts'
import { formatChallenge } from './challenge.ts'
import type { ActiveIntrospection } from './introspection.ts'
import { readPresentedToken } from './read-presented-token.ts'

/** Has the form of a token: the prefix and 43 characters of base64url. */
const TOKEN = `ppt_${'aZ09_-x'.repeat(6)}A`
const readToken = (...authorization: string[]) =>
  readPresentedToken({ rawHeaders: authorization.flatMap((header) => ['Authorization', header]) })

describe('readPresentedToken', () => {
  test.for([
    [`Bearer ${TOKEN}`, 'Bearer'],
    [`bearer ${TOKEN}`, 'Bearer'],
    [`BeArEr   ${TOKEN}`, 'Bearer'],
    [`DPoP ${TOKEN}`, 'DPoP'],
    [`dpop  ${TOKEN}`, 'DPoP'],
  ] as const)('reads the scheme and token of %s', ([header, scheme]) => {
    expect(readToken(header)).toEqual({ ok: true, value: { scheme, token: TOKEN } })
  })

  test.for([
    ['none', []],
    ['several', [`Bearer ${TOKEN}`, `Bearer ${TOKEN}`]],
    ['several', ['', `Bearer ${TOKEN}`]],
    ['another-scheme', ['']],
    ['another-scheme', ['Basic YTpi']],
    ['another-scheme', [`Bearerx ${TOKEN}`]],
    ['another-scheme', [`Bearer${TOKEN}`]],
    ['another-scheme', [TOKEN]],
    ['several', [`Bearer ${TOKEN}`, `DPoP ${TOKEN}`]],
    ['another-scheme', [`DPoPx ${TOKEN}`]],
    ['malformed', ['DPoP']],
    ['malformed', [`DPoP\t${TOKEN}`]],
    ['malformed', ['Bearer']],
    ['malformed', ['Bearer ']],
    ['malformed', [`Bearer\t${TOKEN}`]],
    ['malformed', [`Bearer ${TOKEN} `]],
    ['malformed', [`Bearer ${TOKEN} x`]],
    ['malformed', [`Bearer ${TOKEN}=`]],
    ['malformed', [`Bearer ${TOKEN}\n`]],
    ['malformed', [`Bearer x${TOKEN}`]],
    ['malformed', [`Bearer ${TOKEN.toUpperCase()}`]],
    ['malformed', [`Bearer Bearer ${TOKEN}`]],
  ] as const)('returns the fault %s for %j', ([error, headers]) => {
    expect(readToken(...headers)).toEqual({ ok: false, error })
  })
})

const resourceMetadata = 'https://plainpath.example/.well-known/oauth-protected-resource/api'

test('formatChallenge quotes every parameter', () => {
  expect(
    formatChallenge('Bearer', {
      error: 'invalid_token',
      scope: ['guides:read', 'waitlist:write'],
      resourceMetadata,
    }),
  ).toBe(
    `Bearer realm="plainpath", error="invalid_token", scope="guides:read waitlist:write", resource_metadata="${resourceMetadata}"`,
  )
  expect(
    formatChallenge('DPoP', { error: 'invalid_dpop_proof', scope: ['guides:read'], resourceMetadata }),
  ).toBe(
    `DPoP realm="plainpath", error="invalid_dpop_proof", algs="ES256 EdDSA Ed25519", scope="guides:read", resource_metadata="${resourceMetadata}"`,
  )
})

test('formatChallenge replaces characters that are not allowed in a parameter', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'"\\a ,=\r\n\t\u00e9\u{1f4a9}') }), (scope) => {
      expect(formatChallenge('Bearer', { scope: [scope], resourceMetadata })).toMatch(
        /^Bearer realm="plainpath", scope="[\x20\x21\x23-\x5B\x5D-\x7E]*", resource_metadata="[^"]+"$/,
      )
    }),
  )
})

describe('createCachedBearerCheck', () => {
  const now = new Date('2026-11-20T09:00:00Z')
  const urls = createServiceUrls('https://plainpath.example')
  const active: ActiveIntrospection = {
    active: true,
    clientId: AgentId.parse(`agt_${'a'.repeat(22)}`),
    scopes: new Set(['guides:read']),
    audience: [urls.base],
    expiresAt: new Date(now.getTime() + 1),
    identityType: 'anonymous',
  }
  const findCaller = ({
    isSynchronised = true,
    introspection = active,
    scheme = 'Bearer',
  }: {
    isSynchronised?: boolean
    introspection?: ActiveIntrospection
    scheme?: string
  }) => {
    const clock = { isSynchronised: () => isSynchronised }
    const find = createCachedBearerCheck({ findCached: () => introspection, urls, clock, now: () => now })
    return find({ rawHeaders: ['Authorization', `${scheme} ${TOKEN}`] })
  }

  test('finds the caller of a token whose introspection is cached', () => {
    expect(findCaller({})).toEqual({ clientId: active.clientId, scopes: active.scopes })
  })

  test.for([
    { condition: 'while the clock is not synchronised', isSynchronised: false },
    { condition: 'once the token has expired', introspection: { ...active, expiresAt: now } },
    { condition: 'for a token bound to a key', introspection: { ...active, jkt: 'a'.repeat(43) } },
    { condition: 'with the scheme DPoP', scheme: 'DPoP' },
    {
      condition: 'for a token of another service',
      introspection: { ...active, audience: ['https://other.example/api'] },
    },
  ])('finds no caller $condition', (options) => {
    expect(findCaller(options)).toBeUndefined()
  })
})
