import { expect, test } from 'vitest'
import { exampleAgent } from '../../test/example-agent.ts'
import { exampleKey } from '../../test/example-key.ts'
import { createEvents } from '../events.ts'
import type { NewToken } from '../tokens/token-store.ts'
import { createClientAdapter, createReadOnlyAdapter, createTokenAdapter } from './provider-adapters.ts'

const { agent } = exampleAgent()
const server = {
  client_id: 'rs_api',
  audience: 'https://a.example/api',
  secrets: [`sha256:${'A'.repeat(43)}`],
}

test('gives the library no secret, hash or key of a client', async () => {
  const digest = Buffer.from('the hash of a secret')
  const record = {
    agent: { ...agent, keys: [exampleKey('one')] },
    secrets: [{ id: 'secret-1', digest, keyId: 'hash-1', createdAt: new Date(0), endsAt: undefined }],
  }
  const adapter = createClientAdapter(
    async () => record,
    () => [server],
  )
  const metadata = JSON.stringify([await adapter.find(agent.id), await adapter.find(server.client_id)])
  expect(metadata).toContain(agent.id)
  expect(metadata).toContain(server.client_id)
  for (const hidden of [digest.toString('base64url'), digest.toString('hex'), 'sha256:', '"x"', '"kty"'])
    expect(metadata).not.toContain(hidden)
})

test('finds nothing and refuses writes for a model that is never stored', async () => {
  await expect(createReadOnlyAdapter('nothing is written here').upsert('id', {}, 1)).rejects.toThrow(
    'nothing is written',
  )
  expect(await createReadOnlyAdapter('nothing is written here').find('id')).toBeUndefined()
})

test('stores a token under the credential version of its request, even if that is outdated', async () => {
  const saved: NewToken[] = []
  const tokens = {
    save: async (_hash: Buffer, token: NewToken) => void saved.push(token),
    find: async () => undefined,
    revoke: async () => undefined,
  }
  const storeToken = (requestVersion: number | undefined) =>
    createTokenAdapter(
      {
        tokens,
        agentCache: { find: async () => ({ agent: { ...agent, credentialVersion: 2 }, secrets: [] }) },
      },
      {
        usage: { recordUse: async () => true },
        events: createEvents(),
        getCredentialVersion: () => requestVersion,
        bindContact: async (_id, credentialVersion) => credentialVersion + 1,
      },
    ).upsert('ppt_x', { clientId: agent.id, aud: 'https://a.example/api', iat: 1, exp: 2 }, 1)
  await storeToken(1)
  await storeToken(2)
  expect(saved.map(({ credentialVersion }) => credentialVersion)).toEqual([1, 2])
  await expect(storeToken(undefined)).rejects.toThrow('was not authenticated')
  expect(saved).toHaveLength(2)
})

test('stores the key of a token, and once contact:write was bound, refuses it without a key', async () => {
  const saved: NewToken[] = []
  const tokensByHash = new Map<string, NewToken>()
  const bindings: unknown[] = []
  let contactBoundSince: number | undefined
  const adapter = createTokenAdapter(
    {
      tokens: {
        save: async (hash, token) => {
          saved.push(token)
          tokensByHash.set(hash.toString('hex'), token)
          return undefined
        },
        find: async (hash) => ({ epoch: 0, ...tokensByHash.get(hash.toString('hex'))! }),
        revoke: async () => undefined,
      },
      agentCache: {
        find: async () => ({
          agent: { ...agent, credentialVersion: 1, ...(contactBoundSince && { contactBoundSince }) },
          secrets: [],
        }),
      },
    },
    {
      usage: { recordUse: async () => true },
      events: createEvents(),
      getCredentialVersion: () => 1,
      async bindContact(...args) {
        bindings.push(args)
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
  expect(saved.at(-1)).toMatchObject({ credentialVersion: 1, jkt: 'thumbprint' })
  expect(await adapter.find('ppt_x')).toMatchObject({ jkt: 'thumbprint' })
  await store('guides:read contact:write')
  expect(saved.at(-1)).not.toHaveProperty('jkt')
  expect(bindings).toEqual([])
  await store('guides:read contact:write', 'thumbprint')
  expect(saved.at(-1)).toMatchObject({ credentialVersion: 2, jkt: 'thumbprint' })
  expect(bindings).toEqual([[agent.id, 1]])
  contactBoundSince = 2
  await store('guides:read')
  await expect(store('contact:write')).rejects.toMatchObject({ code: 'dpop-proof-required' })
  expect(saved).toHaveLength(4)
})
