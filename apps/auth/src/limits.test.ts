import { expect, test } from 'vitest'
import { CLIENT_LIMITS, LIMITS } from './limits.ts'

test('clients with a verified domain have limits of their own, and share one for each registrable domain', () => {
  expect(CLIENT_LIMITS).toEqual({
    address: LIMITS.address,
    client: [{ name: 'token-client', quota: 120, windowSeconds: 60 }],
    verified: [{ name: 'token-verified', quota: 360, windowSeconds: 60 }],
    domain: [{ name: 'token-domain', quota: LIMITS.address[0].quota, windowSeconds: 60 }],
  })
})
