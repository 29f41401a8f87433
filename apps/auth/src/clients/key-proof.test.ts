import { ok } from '@plainpath/domain'
import { describe, expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import { createExampleKey } from '../../test/example-key.ts'
import { selectKey, validateKeyProof } from './key-proof.ts'

const NOW = 1_795_183_200
const { id: clientId } = createExampleAgent().agent
const endpoint = 'https://plainpath.example/api/agent/jwks'
const claims = { iss: clientId as string, aud: endpoint, iat: NOW, exp: NOW + 60, jkts: ['a', 'b'] }
const validate = (overrides: Partial<typeof claims>) =>
  validateKeyProof(
    { ...claims, ...overrides },
    { clientId, endpoint, thumbprints: ['b', 'a'], now: new Date(NOW * 1_000) },
  )
const fault = (error: string) => ({ ok: false, error })
const valid = (exp = NOW + 60) => ok(new Date((exp + 10) * 1_000))

describe('validates times with a tolerance of 10 s:', () => {
  test.for([
    ['exp 10 s ago', { iat: NOW - 60, exp: NOW - 10 }, fault('expired')],
    ['exp 9 s ago', { iat: NOW - 60, exp: NOW - 9 }, valid(NOW - 9)],
    ['a lifetime of 300 s', { exp: NOW + 300 }, valid(NOW + 300)],
    ['a lifetime of 301 s', { exp: NOW + 301 }, fault('lifetime-too-long')],
    ['iat in 10 s', { iat: NOW + 10, exp: NOW + 310 }, valid(NOW + 310)],
    ['iat in 11 s', { iat: NOW + 11 }, fault('not-yet')],
  ] satisfies [string, Parameters<typeof validate>[0], unknown][])('%s', ([_case, overrides, expected]) => {
    expect(validate(overrides)).toEqual(expected)
  })
})

test('requires the expected issuer, audience and set of thumbprints', () => {
  expect(validate({})).toEqual(valid())
  expect(validate({ iss: `${clientId}x` })).toEqual(fault('issuer'))
  expect(validate({ aud: `${endpoint}/` })).toEqual(fault('audience'))
  for (const jkts of [[], ['a'], ['a', 'b', 'c'], ['a', 'a', 'b'], ['a', 'c']])
    expect(validate({ jkts })).toEqual(fault('key-set'))
})

test('selects the named key, or the only one, if it fits the algorithm', () => {
  const [one, two] = [createExampleKey('one'), createExampleKey('two')]
  expect(selectKey([one, two], { alg: 'ES256', kid: 'two' })).toBe(two)
  expect(selectKey([one], { alg: 'ES256' })).toBe(one)
  expect(selectKey([one, two], { alg: 'ES256' })).toBeUndefined()
  expect(selectKey([], { alg: 'ES256' })).toBeUndefined()
  expect(selectKey([one], { alg: 'ES256', kid: 'two' })).toBeUndefined()
  expect(selectKey([one], { alg: 'EdDSA', kid: 'one' })).toBeUndefined()
})
