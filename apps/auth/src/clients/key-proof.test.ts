import { ok } from '@plainpath/domain'
import { describe, expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import { exampleKey } from '../../test/example-key.ts'
import { selectKey, validateKeyProof } from './key-proof.ts'

const NOW = 1_795_183_200
const { id: clientId } = exampleAgent().agent
const endpoint = 'https://plainpath.example/api/agent/jwks'
const claims = { iss: clientId as string, aud: endpoint, iat: NOW, exp: NOW + 60, jkts: ['a', 'b'] }
const judge = (more: Partial<typeof claims>) =>
  validateKeyProof(
    { ...claims, ...more },
    { clientId, endpoint, thumbprints: ['b', 'a'], now: new Date(NOW * 1_000) },
  )
const fault = (error: string) => ({ ok: false, error })
const good = (exp = NOW + 60) => ok(new Date((exp + 10) * 1_000))

describe('the edges of time', () => {
  test.for([
    ['exp 10 s ago', { iat: NOW - 60, exp: NOW - 10 }, fault('expired')],
    ['exp 9 s ago', { iat: NOW - 60, exp: NOW - 9 }, good(NOW - 9)],
    ['300 s of life', { exp: NOW + 300 }, good(NOW + 300)],
    ['301 s of life', { exp: NOW + 301 }, fault('lifetime-too-long')],
    ['iat in 10 s', { iat: NOW + 10, exp: NOW + 310 }, good(NOW + 310)],
    ['iat in 11 s', { iat: NOW + 11 }, fault('not-yet')],
  ] satisfies [string, Parameters<typeof judge>[0], unknown][])('%s', ([_edge, more, expected]) => {
    expect(judge(more)).toEqual(expected)
  })
})

test('validates issuer, audience and keys', () => {
  expect(judge({})).toEqual(good())
  expect(judge({ iss: `${clientId}x` })).toEqual(fault('issuer'))
  expect(judge({ aud: `${endpoint}/` })).toEqual(fault('audience'))
  for (const jkts of [[], ['a'], ['a', 'b', 'c'], ['a', 'a', 'b'], ['a', 'c']])
    expect(judge({ jkts })).toEqual(fault('key-set'))
})

test('selects the named key, or the only one, if it fits the algorithm', () => {
  const [one, two] = [exampleKey('one'), exampleKey('two')]
  expect(selectKey([one, two], { alg: 'ES256', kid: 'two' })).toBe(two)
  expect(selectKey([one], { alg: 'ES256' })).toBe(one)
  expect(selectKey([one, two], { alg: 'ES256' })).toBeUndefined()
  expect(selectKey([], { alg: 'ES256' })).toBeUndefined()
  expect(selectKey([one], { alg: 'ES256', kid: 'two' })).toBeUndefined()
  expect(selectKey([one], { alg: 'EdDSA', kid: 'one' })).toBeUndefined()
})
