import { ok } from '@plainpath/domain'
import { describe, expect, test } from 'vitest'
import { validateClaims } from './client-assertion.ts'

/** 2026-11-20T14:00:00Z, in seconds since 1970, as in the claims. */
const NOW_SECONDS = 1_795_183_200
const issuer = 'https://plainpath.example'
const claims = { iss: 'agt_1', sub: 'agt_1', aud: issuer, exp: NOW_SECONDS + 60, jti: 'x' }
const validate = (overrides: Partial<typeof claims> & { iat?: number; nbf?: number }) =>
  validateClaims({ claims: { ...claims, ...overrides } }, { issuer, now: new Date(NOW_SECONDS * 1_000) })
const createFault = (error: string) => ({ ok: false, error })
/** Creates the result for a valid assertion: when it expires, including the tolerance. */
const createExpiry = (exp = NOW_SECONDS + 60) => ok(new Date((exp + 10) * 1_000))

describe('validateClaims validates times with a tolerance of 10 s:', () => {
  test.for([
    ['exp 10 s ago', { exp: NOW_SECONDS - 10 }, createFault('expired')],
    ['exp 9 s ago', { exp: NOW_SECONDS - 9 }, createExpiry(NOW_SECONDS - 9)],
    // The maximum lifetime is 300 s. Without `iat`, it is counted from now, and the tolerance is added.
    ['exp in 310 s', { exp: NOW_SECONDS + 310 }, createExpiry(NOW_SECONDS + 310)],
    ['exp in 311 s', { exp: NOW_SECONDS + 311 }, createFault('lifetime-too-long')],
    ['a lifetime of 300 s', { iat: NOW_SECONDS - 240 }, createExpiry()],
    ['a lifetime of 301 s', { iat: NOW_SECONDS - 241 }, createFault('lifetime-too-long')],
    ['nbf in 10 s', { nbf: NOW_SECONDS + 10 }, createExpiry()],
    ['nbf in 11 s', { nbf: NOW_SECONDS + 11 }, createFault('not-yet')],
    ['iat in 10 s', { iat: NOW_SECONDS + 10 }, createExpiry()],
    ['iat in 11 s', { iat: NOW_SECONDS + 11 }, createFault('not-yet')],
  ] satisfies [string, Parameters<typeof validate>[0], unknown][])('%s', ([_case, overrides, expected]) => {
    expect(validate(overrides)).toEqual(expected)
  })
})

test('validateClaims requires the subject as the issuer, and this server as the audience', () => {
  expect(validate({})).toEqual(createExpiry())
  expect(validate({ iss: 'agt_2' })).toEqual(createFault('issuer'))
  expect(validate({ aud: `${issuer}/` })).toEqual(createFault('audience'))
})
