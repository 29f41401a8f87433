import { expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import { exampleKey } from '../../test/example-key.ts'
import { createEvents } from '../events.ts'
import type { NewToken } from '../tokens/token-store.ts'
import { clientAdapter, readOnlyAdapter, tokenAdapter } from './provider-adapters.ts'

const { agent } = exampleAgent()
const server = {
  client_id: 'rs_api',
  audience: 'https://a.example/api',
  secrets: [`sha256:${'A'.repeat(43)}`],
}

test('gives the library no secret, hash or key of a client', async () => {
  const digest = Buffer.from('the hash of a secret')
  const known = {
    agent: { ...agent, keys: [exampleKey('one')] },
    secrets: [{ id: 'secret-1', digest, keyId: 'hash-1', createdAt: new Date(0), endsAt: undefined }],
  }
  const adapter = clientAdapter(
    async () => known,
    () => [server],
  )
  const given = JSON.stringify([await adapter.find(agent.id), await adapter.find(server.client_id)])
  expect(given).toContain(agent.id)
  expect(given).toContain(server.client_id)
  for (const hidden of [digest.toString('base64url'), digest.toString('hex'), 'sha256:', '"x"', '"kty"'])
    expect(given).not.toContain(hidden)
})

test('finds nothing and refuses writes for a model that is never stored', async () => {
  await expect(readOnlyAdapter('nothing is written here').upsert('id', {}, 1)).rejects.toThrow(
    'nothing is written',
  )
  expect(await readOnlyAdapter('nothing is written here').find('id')).toBeUndefined()
})

test('gives a token the generation of its credential, even if the client has a newer one by then', async () => {
  const saved: NewToken[] = []
  const tokens = {
    save: async (_hash: Buffer, token: NewToken) => void saved.push(token),
    find: async () => undefined,
    revoke: async () => undefined,
  }
  const storeToken = (authenticated: number | undefined) =>
    tokenAdapter(
      { tokens, cachedAgents: { find: async () => ({ agent: { ...agent, generation: 2 }, secrets: [] }) } },
      {
        marks: { mark: async () => true },
        events: createEvents(),
        authenticatedGeneration: () => authenticated,
        bindContact: async (_id, generation) => generation + 1,
      },
    ).upsert('ppt_x', { clientId: agent.id, aud: 'https://a.example/api', iat: 1, exp: 2 }, 1)
  await storeToken(1)
  await storeToken(2)
  expect(saved.map(({ generation }) => generation)).toEqual([1, 2])
  await expect(storeToken(undefined)).rejects.toThrow('was not authenticated')
  expect(saved).toHaveLength(2)
})

test('tokens are bound to a key, and contact:write stays bound', async () => {
  const saved: NewToken[] = []
  const stored = new Map<string, NewToken>()
  const bindings: unknown[] = []
  let contactBoundSince: number | undefined
  const adapter = tokenAdapter(
    {
      tokens: {
        save: async (hash, token) => {
          saved.push(token)
          stored.set(hash.toString('hex'), token)
          return undefined
        },
        find: async (hash) => ({ epoch: 0, ...stored.get(hash.toString('hex'))! }),
        revoke: async () => undefined,
      },
      cachedAgents: {
        find: async () => ({
          agent: { ...agent, generation: 1, ...(contactBoundSince && { contactBoundSince }) },
          secrets: [],
        }),
      },
    },
    {
      marks: { mark: async () => true },
      events: createEvents(),
      authenticatedGeneration: () => 1,
      async bindContact(...given) {
        bindings.push(given)
        return 2
      },
    },
  )
  const store = (scope: string, jkt?: string) =>
    adapter.upsert(
      'ppt_x',
      { clientId: agent.id, aud: 'https://a.example/api', iat: 1, exp: 2, scope, jkt },
      1,
    )
  await store('guides:read', 'thumbprint')
  expect(saved.at(-1)).toMatchObject({ generation: 1, jkt: 'thumbprint' })
  expect(await adapter.find('ppt_x')).toMatchObject({ jkt: 'thumbprint' })
  await store('guides:read contact:write')
  expect(saved.at(-1)).not.toHaveProperty('jkt')
  expect(bindings).toEqual([])
  await store('guides:read contact:write', 'thumbprint')
  expect(saved.at(-1)).toMatchObject({ generation: 2, jkt: 'thumbprint' })
  expect(bindings).toEqual([[agent.id, 1]])
  contactBoundSince = 2
  await store('guides:read')
  await expect(store('contact:write')).rejects.toMatchObject({ code: 'dpop-proof-required' })
  expect(saved).toHaveLength(4)
})
