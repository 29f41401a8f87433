import { expect, test } from 'vitest'
import { CLIENT_LIMITS, LIMITS } from './limits.ts'

test('a client with a verified domain has a higher limit, and the clients of a domain share the quota of one address', () => {
  expect(CLIENT_LIMITS).toEqual({
    address: LIMITS.address,
    client: [{ name: 'token-client', quota: 120, windowSeconds: 60 }],
    verified: [{ name: 'token-verified', quota: 360, windowSeconds: 60 }],
    domain: [{ name: 'token-domain', quota: LIMITS.address[0].quota, windowSeconds: 60 }],
  })
})
