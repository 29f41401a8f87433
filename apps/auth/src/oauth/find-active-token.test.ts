import { expect, test } from 'vitest'
import { createExampleAgent } from '../../test/example-agent.ts'
import type { TokenRecord } from '../tokens/token-store.ts'
import { findActiveToken } from './find-active-token.ts'

const { agent } = createExampleAgent()
const token: TokenRecord = {
  clientId: agent.id,
  credentialVersion: 2,
  epoch: 0,
  scope: 'guides:read',
  audience: 'https://plainpath.example/api',
  issuedAt: new Date(0),
  expiresAt: new Date(1),
}

test.for([
  ['finds the token', 'the version of the token', { credentialVersion: 2 }, token],
  ['finds the token', 'an older version, because its cache is stale', { credentialVersion: 1 }, token],
  ['finds nothing', 'a newer version, which the token store has lost', { credentialVersion: 3 }, undefined],
  ['finds nothing', 'a disabled agent', { credentialVersion: 2, status: 'disabled' as const }, undefined],
] as const)('%s when this process knows %s', async ([_outcome, _known, overrides, found]) => {
  const findAgent = async () => ({ agent: { ...agent, ...overrides }, secrets: [] })
  const deps = { tokens: { find: async () => token }, findAgent }
  expect(await findActiveToken(deps, Buffer.alloc(32))).toBe(found)
})

test('finds no token of an agent that does not exist', async () => {
  const deps = { tokens: { find: async () => token }, findAgent: async () => undefined }
  expect(await findActiveToken(deps, Buffer.alloc(32))).toBeUndefined()
})
