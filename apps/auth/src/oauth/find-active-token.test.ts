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
  // Not read: the token store checks the expiry.
  expiresAt: new Date(1),
}
const findNothing = async () => undefined

test.for([
  ['finds the token', 'has the credential version of the token', { credentialVersion: 2 }, token],
  [
    'finds the token',
    'has an older credential version (the cache is stale)',
    { credentialVersion: 1 },
    token,
  ],
  [
    'finds nothing',
    'has a newer credential version (the token store lost it)',
    { credentialVersion: 3 },
    undefined,
  ],
  ['finds nothing', 'is disabled', { credentialVersion: 2, status: 'disabled' as const }, undefined],
] as const)('%s if the cached agent %s', async ([_outcome, _cachedAgent, overrides, expected]) => {
  const find = async () => ({ agent: { ...agent, ...overrides }, secrets: [] })
  const stores = { tokens: { find: async () => token }, agents: { find: findNothing }, agentCache: { find } }
  expect(await findActiveToken(stores, Buffer.alloc(32))).toBe(expected)
})

test('finds the token of an agent that another instance stored after this one cached it as unknown', async () => {
  const find = async () => ({ agent: { ...agent, credentialVersion: 2 }, secrets: [] })
  const stores = { tokens: { find: async () => token }, agents: { find }, agentCache: { find: findNothing } }
  expect(await findActiveToken(stores, Buffer.alloc(32))).toBe(token)
})

test('finds no token of an agent that does not exist', async () => {
  const emptyStore = { find: findNothing }
  const stores = { tokens: { find: async () => token }, agents: emptyStore, agentCache: emptyStore }
  expect(await findActiveToken(stores, Buffer.alloc(32))).toBeUndefined()
})
