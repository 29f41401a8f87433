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
const findNothing = async () => undefined

test.for([
  ['finds the token', 'the version of the token', { credentialVersion: 2 }, token],
  ['finds the token', 'an older version, because its cache is stale', { credentialVersion: 1 }, token],
  ['finds nothing', 'a newer version, which the token store has lost', { credentialVersion: 3 }, undefined],
  ['finds nothing', 'a disabled agent', { credentialVersion: 2, status: 'disabled' as const }, undefined],
] as const)('%s when this process knows %s', async ([_outcome, _known, overrides, found]) => {
  const find = async () => ({ agent: { ...agent, ...overrides }, secrets: [] })
  const stores = { tokens: { find: async () => token }, agents: { find: findNothing }, agentCache: { find } }
  expect(await findActiveToken(stores, Buffer.alloc(32))).toBe(found)
})

test('finds the token when this process has cached as unknown an agent that another instance has stored since', async () => {
  const find = async () => ({ agent: { ...agent, credentialVersion: 2 }, secrets: [] })
  const stores = { tokens: { find: async () => token }, agents: { find }, agentCache: { find: findNothing } }
  expect(await findActiveToken(stores, Buffer.alloc(32))).toBe(token)
})

test('finds no token of an agent that does not exist', async () => {
  const missing = { find: findNothing }
  const stores = { tokens: { find: async () => token }, agents: missing, agentCache: missing }
  expect(await findActiveToken(stores, Buffer.alloc(32))).toBeUndefined()
})
