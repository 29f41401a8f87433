import { ok } from '@plainpath/domain'
import { describe, expect, test } from 'vitest'
import { validateClaims } from './client-assertion.ts'

const NOW = 1_795_183_200
const issuer = 'https://plainpath.example'
const claims = { iss: 'agt_1', sub: 'agt_1', aud: issuer, exp: NOW + 60, jti: 'x' }
const validate = (overrides: Partial<typeof claims> & { iat?: number; nbf?: number }) =>
  validateClaims({ claims: { ...claims, ...overrides } }, { issuer, now: new Date(NOW * 1_000) })
const fault = (error: string) => ({ ok: false, error })
const expiresAt = (exp = NOW + 60) => ok(new Date((exp + 10) * 1_000))

describe('validates times with a tolerance of 10 s:', () => {
  test.for([
    ['exp 10 s ago', { exp: NOW - 10 }, fault('expired')],
    ['exp 9 s ago', { exp: NOW - 9 }, expiresAt(NOW - 9)],
    ['exp in 310 s', { exp: NOW + 310 }, expiresAt(NOW + 310)],
    ['exp in 311 s', { exp: NOW + 311 }, fault('lifetime-too-long')],
    ['a lifetime of 300 s', { iat: NOW - 240 }, expiresAt()],
    ['a lifetime of 301 s', { iat: NOW - 241 }, fault('lifetime-too-long')],
    ['nbf in 10 s', { nbf: NOW + 10 }, expiresAt()],
    ['nbf in 11 s', { nbf: NOW + 11 }, fault('not-yet')],
    ['iat in 10 s', { iat: NOW + 10 }, expiresAt()],
    ['iat in 11 s', { iat: NOW + 11 }, fault('not-yet')],
  ] satisfies [string, Parameters<typeof validate>[0], unknown][])('%s', ([_case, overrides, expected]) => {
    expect(validate(overrides)).toEqual(expected)
  })
})

test('requires that the issuer is the subject, and the audience this server', () => {
  expect(validate({})).toEqual(expiresAt())
  expect(validate({ iss: 'agt_2' })).toEqual(fault('issuer'))
  expect(validate({ aud: `${issuer}/` })).toEqual(fault('audience'))
})
