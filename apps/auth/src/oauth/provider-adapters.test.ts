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
      },
    ).upsert('ppt_x', { clientId: agent.id, aud: 'https://a.example/api', iat: 1, exp: 2 }, 1)
  await storeToken(1)
  await storeToken(2)
  expect(saved.map(({ generation }) => generation)).toEqual([1, 2])
  await expect(storeToken(undefined)).rejects.toThrow('was not authenticated')
  expect(saved).toHaveLength(2)
})
