import { AgentId } from '@plainpath/domain'
import { serviceUrls } from '@plainpath/metadata'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCachedBearerCheck } from './bearer.ts'
import { formatChallenge } from './challenge.ts'
import type { ActiveIntrospection } from './introspection.ts'
import { readPresentedToken } from './read-presented-token.ts'

const TOKEN = `ppt_${'aZ09_-x'.repeat(6)}A`
const sent = (...authorization: string[]) =>
  readPresentedToken({ rawHeaders: authorization.flatMap((header) => ['Authorization', header]) })

describe('the Authorization header', () => {
  test.for([
    [`Bearer ${TOKEN}`, 'Bearer'],
    [`bearer ${TOKEN}`, 'Bearer'],
    [`BeArEr   ${TOKEN}`, 'Bearer'],
    [`DPoP ${TOKEN}`, 'DPoP'],
    [`dpop  ${TOKEN}`, 'DPoP'],
  ] as const)('holds a token: %s', ([header, scheme]) => {
    expect(sent(header)).toEqual({ ok: true, value: { scheme, token: TOKEN } })
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
  ] as const)('holds no token (%s): %j', ([error, headers]) => {
    expect(sent(...headers)).toEqual({ ok: false, error })
  })
})

const resourceMetadata = 'https://plainpath.example/.well-known/oauth-protected-resource/api'

test('a challenge is one line of quoted parameters', () => {
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

test('nothing breaks out of a parameter', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'"\\a ,=\r\n\t\u00e9\u{1f4a9}') }), (scope) => {
      expect(formatChallenge('Bearer', { scope: [scope], resourceMetadata })).toMatch(
        /^Bearer realm="plainpath", scope="[\x20\x21\x23-\x5B\x5D-\x7E]*", resource_metadata="[^"]+"$/,
      )
    }),
  )
})

describe('a token with a cached introspection', () => {
  const now = new Date('2026-11-20T09:00:00Z')
  const urls = serviceUrls('https://plainpath.example')
  const good: ActiveIntrospection = {
    active: true,
    clientId: AgentId.parse(`agt_${'a'.repeat(22)}`),
    scopes: new Set(['guides:read']),
    audience: [urls.base],
    expiresAt: new Date(now.getTime() + 1),
    identityType: 'anonymous',
  }
  const findCaller = ({
    isSynchronised = true,
    introspection = good,
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

  test('names its caller', () => {
    expect(findCaller({})).toEqual({ clientId: good.clientId, scopes: good.scopes })
  })

  test.for([
    { why: 'by a wrong clock', isSynchronised: false },
    { why: 'once it has expired', introspection: { ...good, expiresAt: now } },
    { why: 'when it is bound to a key', introspection: { ...good, jkt: 'a'.repeat(43) } },
    { why: 'behind the scheme DPoP', scheme: 'DPoP' },
    { why: 'for another service', introspection: { ...good, audience: ['https://other.example/api'] } },
  ])('says nothing $why', (known) => {
    expect(findCaller(known)).toBeUndefined()
  })
})
