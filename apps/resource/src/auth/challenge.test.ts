import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bearerChallenge } from './challenge.ts'

const resourceMetadata = 'https://plainpath.example/.well-known/oauth-protected-resource/api'

test('a challenge is one line of quoted parameters', () => {
  expect(
    bearerChallenge({ error: 'invalid_token', scope: ['guides:read', 'waitlist:write'], resourceMetadata }),
  ).toBe(
    `Bearer realm="plainpath", error="invalid_token", scope="guides:read waitlist:write", resource_metadata="${resourceMetadata}"`,
  )
})

test('N-226 nothing breaks out of a parameter', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'"\\a ,=\r\n\t\u00e9\u{1f4a9}') }), (scope) => {
      expect(bearerChallenge({ scope: [scope], resourceMetadata })).toMatch(
        /^Bearer realm="plainpath", scope="[\x20\x21\x23-\x5B\x5D-\x7E]*", resource_metadata="[^"]+"$/,
      )
    }),
  )
})
