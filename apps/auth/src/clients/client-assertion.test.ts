import { ok } from '@plainpath/domain'
import { describe, expect, test } from 'vitest'
import { validateClaims } from './client-assertion.ts'

const NOW = 1_795_183_200
const issuer = 'https://plainpath.example'
const claims = { iss: 'agt_1', sub: 'agt_1', aud: issuer, exp: NOW + 60, jti: 'x' }
const judge = (more: Partial<typeof claims> & { iat?: number; nbf?: number }) =>
  validateClaims({ claims: { ...claims, ...more } }, { issuer, now: new Date(NOW * 1_000) })
const fault = (error: string) => ({ ok: false, error })
const good = (exp = NOW + 60) => ok(new Date((exp + 10) * 1_000))

describe('the edges of time', () => {
  test.for([
    ['exp 10 s ago', { exp: NOW - 10 }, fault('expired')],
    ['exp 9 s ago', { exp: NOW - 9 }, good(NOW - 9)],
    ['exp in 310 s', { exp: NOW + 310 }, good(NOW + 310)],
    ['exp in 311 s', { exp: NOW + 311 }, fault('lifetime-too-long')],
    ['300 s of life', { iat: NOW - 240 }, good()],
    ['301 s of life', { iat: NOW - 241 }, fault('lifetime-too-long')],
    ['nbf in 10 s', { nbf: NOW + 10 }, good()],
    ['nbf in 11 s', { nbf: NOW + 11 }, fault('not-yet')],
    ['iat in 10 s', { iat: NOW + 10 }, good()],
    ['iat in 11 s', { iat: NOW + 11 }, fault('not-yet')],
  ] satisfies [string, Parameters<typeof judge>[0], unknown][])('%s', ([_edge, more, expected]) => {
    expect(judge(more)).toEqual(expected)
  })
})

test('validates issuer, subject and audience', () => {
  expect(judge({})).toEqual(good())
  expect(judge({ iss: 'agt_2' })).toEqual(fault('issuer'))
  expect(judge({ aud: `${issuer}/` })).toEqual(fault('audience'))
})
