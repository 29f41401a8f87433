import { generateKeyPairSync } from 'node:crypto'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { err } from '@plainpath/domain'
import { serviceUrls } from '@plainpath/metadata'
import { expect, test } from 'vitest'
import { createProvider, type ProviderDeps } from './create-provider.ts'
import { gateVoucher } from './gate-voucher.ts'
import { readOnlyAdapter } from './token-adapter.ts'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const signing = { ...privateKey.export({ format: 'jwk' }), kid: 'key-1', alg: 'ES256', use: 'sig' }
const deps: ProviderDeps = {
  urls: serviceUrls('https://plainpath.example'),
  adapter: () => readOnlyAdapter('nothing is written here'),
  ring: { signing, published: [] } as unknown as ProviderDeps['ring'],
  vouch: gateVoucher(),
  resourceServers: () => [],
  exchangeAssertion: async () => err('invalid-grant'),
  emailOf: async () => undefined,
  now: () => new Date(),
  revocationMark: () => undefined,
}
const provider = createProvider(deps)

test('N-118 the library makes its addresses from our origin, whatever Host says', () => {
  const request = new IncomingMessage(new Socket())
  request.headers.host = 'evil.example'
  request.url = 'http://evil.example/oauth/token'
  const ctx = provider.createContext(request, new ServerResponse(request))
  expect(ctx.href).toContain('evil.example')
  const oidc = new provider.OIDCContext(ctx)
  expect(oidc.urlFor('token')).toBe('https://plainpath.example/oauth/token')
  expect(oidc.urlFor('introspection')).toBe('https://plainpath.example/oauth/introspect')
})

test('writes nothing of its own accord', async () => {
  await expect(readOnlyAdapter('nothing is written here').upsert('id', {}, 1)).rejects.toThrow(
    'nothing is written',
  )
  expect(await readOnlyAdapter('nothing is written here').find('id')).toBeUndefined()
})

test('keeps a client as long as its metadata is the same object, and not a moment longer', async () => {
  const metadataWith = (scope: string) => ({
    client_id: 'agt_AAAAAAAAAAAAAAAAAAAAAA',
    client_secret: 'kept',
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
    scope,
  })
  let known: ReturnType<typeof metadataWith> | undefined = metadataWith('guides:read')
  const { Client } = createProvider({
    ...deps,
    adapter: () => ({ ...readOnlyAdapter('nothing is written here'), find: async () => known }),
  })
  const first = await Client.find('agt_AAAAAAAAAAAAAAAAAAAAAA')
  expect(first?.scope).toBe('guides:read')
  expect(await Client.find('agt_AAAAAAAAAAAAAAAAAAAAAA')).toBe(first)
  known = metadataWith('waitlist:write')
  expect((await Client.find('agt_AAAAAAAAAAAAAAAAAAAAAA'))?.scope).toBe('waitlist:write')
  known = undefined
  expect(await Client.find('agt_AAAAAAAAAAAAAAAAAAAAAA')).toBeUndefined()
})

test('a client is let in by the gate’s voucher for it alone', async () => {
  const id = 'agt_AAAAAAAAAAAAAAAAAAAAAA'
  const metadata = { client_id: id, client_secret: 'kept', redirect_uris: [], response_types: [] }
  const { Client } = createProvider({
    ...deps,
    adapter: () => ({ ...readOnlyAdapter('nothing is written here'), find: async () => metadata }),
  })
  const client = (await Client.find(id)) as unknown as { compareClientSecret(presented: string): boolean }
  expect(client.compareClientSecret(deps.vouch(id))).toBe(true)
  for (const presented of ['', 'kept', id, deps.vouch(`agt_${'B'.repeat(22)}`), gateVoucher()(id)])
    expect(client.compareClientSecret(presented), presented).toBe(false)
})
