import { ok } from '@plainpath/domain'
import { describe, expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import { createExampleKey } from '../../test/example-key.ts'
import { selectKey, validateKeyProof } from './key-proof.ts'

/** 2026-11-20T14:00:00Z, in seconds since 1970, as in the claims. */
const NOW_SECONDS = 1_795_183_200
const { id: clientId } = createExampleAgent().agent
const endpoint = 'https://plainpath.example/api/agent/jwks'
const claims = {
  iss: clientId as string,
  aud: endpoint,
  iat: NOW_SECONDS,
  exp: NOW_SECONDS + 60,
  jkts: ['a', 'b'],
}
/** Validates a proof for the thumbprints `b` and `a`. The claim `jkts` may list them in another order. */
const validate = (overrides: Partial<typeof claims>) =>
  validateKeyProof(
    { ...claims, ...overrides },
    { clientId, endpoint, thumbprints: ['b', 'a'], now: new Date(NOW_SECONDS * 1_000) },
  )
const createFault = (error: string) => ({ ok: false, error })
/** Creates the result for a valid proof: when it expires, including the tolerance. */
const createExpiry = (exp = NOW_SECONDS + 60) => ok(new Date((exp + 10) * 1_000))

describe('validateKeyProof validates times with a tolerance of 10 s:', () => {
  test.for([
    ['exp 10 s ago', { iat: NOW_SECONDS - 60, exp: NOW_SECONDS - 10 }, createFault('expired')],
    ['exp 9 s ago', { iat: NOW_SECONDS - 60, exp: NOW_SECONDS - 9 }, createExpiry(NOW_SECONDS - 9)],
    ['a lifetime of 300 s', { exp: NOW_SECONDS + 300 }, createExpiry(NOW_SECONDS + 300)],
    ['a lifetime of 301 s', { exp: NOW_SECONDS + 301 }, createFault('lifetime-too-long')],
    ['iat in 10 s', { iat: NOW_SECONDS + 10, exp: NOW_SECONDS + 310 }, createExpiry(NOW_SECONDS + 310)],
    ['iat in 11 s', { iat: NOW_SECONDS + 11 }, createFault('not-yet')],
  ] satisfies [string, Parameters<typeof validate>[0], unknown][])('%s', ([_case, overrides, expected]) => {
    expect(validate(overrides)).toEqual(expected)
  })
})

test('validateKeyProof requires the expected issuer, audience and set of thumbprints', () => {
  expect(validate({})).toEqual(createExpiry())
  expect(validate({ iss: `${clientId}x` })).toEqual(createFault('issuer'))
  expect(validate({ aud: `${endpoint}/` })).toEqual(createFault('audience'))
  for (const jkts of [[], ['a'], ['a', 'b', 'c'], ['a', 'a', 'b'], ['a', 'c']])
    expect(validate({ jkts })).toEqual(createFault('key-set'))
})

test('selectKey returns the named key, or else the only key, if it fits the algorithm', () => {
  const [one, two] = [createExampleKey('one'), createExampleKey('two')]
  expect(selectKey([one, two], { alg: 'ES256', kid: 'two' })).toBe(two)
  expect(selectKey([one], { alg: 'ES256' })).toBe(one)
  expect(selectKey([one, two], { alg: 'ES256' })).toBeUndefined()
  expect(selectKey([], { alg: 'ES256' })).toBeUndefined()
  expect(selectKey([one], { alg: 'ES256', kid: 'two' })).toBeUndefined()
  expect(selectKey([one], { alg: 'EdDSA', kid: 'one' })).toBeUndefined()
})
