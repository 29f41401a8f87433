import { describe, expect, test } from 'vitest'
import { findProofFault } from './dpop-proof.ts'

/* These tests cover times that cannot be exact over HTTP, and forms of `htu`. `test/dpop.test.ts` has the other tests of proofs. */

/** 2026-11-20T14:00:00Z, in seconds since 1970, as in the claims. */
const NOW_SECONDS = 1_795_183_200
const url = 'https://plainpath.example/oauth/token'
/** The example key of RFC 8037 appendix A.2. */
const jwk = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }
const encodePart = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
/** Creates a proof whose signature is not valid, because `findProofFault` does not verify it. */
const createProof = (claims: object) =>
  `${encodePart({ typ: 'DPoP+jwt', alg: 'EdDSA', jwk })}.${encodePart({ jti: 'x', htm: 'POST', htu: url, iat: NOW_SECONDS, ...claims })}.c2ln`
const findFault = (claims: object) =>
  findProofFault([createProof(claims)], { url, now: new Date(NOW_SECONDS * 1_000) })

describe('findProofFault accepts a proof only if it is at most 60 s old and at most 10 s ahead:', () => {
  test.for([
    ['60 s old', NOW_SECONDS - 60, undefined],
    ['61 s old', NOW_SECONDS - 61, expect.stringContaining('more than 60 seconds old')],
    ['10 s ahead', NOW_SECONDS + 10, undefined],
    ['11 s ahead', NOW_SECONDS + 11, expect.stringContaining('in the future')],
  ] as const)('%s', ([_case, iat, expected]) => {
    expect(findFault({ iat })).toEqual(expected)
  })
})

test('findProofFault refuses a request without a proof, and a request with two proofs', () => {
  const expected = { url, now: new Date(NOW_SECONDS * 1_000) }
  for (const headers of [[], [createProof({}), createProof({})]])
    expect(findProofFault(headers, expected)).toContain('one DPoP')
})

test.for([
  'https:plainpath.example/oauth/token',
  'https:\\\\plainpath.example\\oauth\\token',
  ' https://plainpath.example/oauth/token',
  'https://plainpath.example/oauth/token ',
  'https://plainpath.example/oauth/to\nken',
  'https://plainpath.example@evil.example/oauth/token',
  'https://@plainpath.example/oauth/token',
  'https://plainpath.example./oauth/token',
  'https://plainpath.example/oauth/%74oken',
  '',
])('findProofFault refuses the htu %o', (htu) => {
  expect(findFault({ htu })).toContain('htu')
})

test.for([url, 'HTTPS://Plainpath.Example/oauth/token', 'https://plainpath.example/a/../oauth/token'])(
  'findProofFault accepts the htu %o, which normalises to the URL of the endpoint',
  (htu) => {
    expect(findFault({ htu })).toBeUndefined()
  },
)
