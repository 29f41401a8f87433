import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { type AgentId, RULES } from '@plainpath/domain'
import { createServiceUrls } from '@plainpath/metadata'
import {
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair as generateJwkPair,
  type JWK,
  SignJWT,
} from 'jose'
import Koa, { type Context } from 'koa'
import { expect } from 'vitest'
import type { AppClient } from '../src/app-clients/app-client.ts'
import type { Connection } from '../src/connections/connection-store.ts'
import { createReadOnlyAdapter } from '../src/oauth/app-adapters.ts'
import { createProvider, OAUTH_PATHS, type ProviderDeps } from '../src/oauth/create-provider.ts'
import { validateProof } from '../src/oauth/override-proofs.ts'
import { createInternalClientSecret } from '../src/oauth/override-provider.ts'

type Adapter = ReturnType<ProviderDeps['adapter']>
type AdapterPayload = Parameters<Adapter['upsert']>[1]

export const ORIGIN = 'https://plainpath.example'
export const AGENT = `agt_${'A'.repeat(22)}` as AgentId
export const APP: AppClient = {
  id: `app_${'A'.repeat(22)}`,
  redirectUris: ['https://host.example/callback'],
  name: 'Example host',
  applicationType: 'web',
  authMethod: 'none',
  keys: [],
  source: 'registered',
}
const CONNECTION = {
  agentId: AGENT,
  appClientId: APP.id,
  expiresAt: new Date(Date.now() + RULES.verificationMs),
} as Connection

/** Creates an adapter that stores models in memory. All adapters of a Provider share `stored`. */
const createMemoryAdapter = (stored: Map<string, AdapterPayload>): Adapter => ({
  ...createReadOnlyAdapter('this test does not do that'),
  upsert: async (id, payload) => void stored.set(id, payload),
  find: async (id) => stored.get(id),
  consume: async () => undefined,
})

/**
 * Creates a Provider with one app and one connection.
 *
 * @param models adapter methods by model name, which replace those of the in-memory adapter
 * @param markUsed records a DPoP proof as used; returns false if it was used before
 * @returns the Provider, its internal client secret, and the models that it has stored in memory, by id
 */
export function createTestProvider(
  models: Record<string, Partial<Adapter>> = {},
  markUsed: ProviderDeps['markProofUsed'] = async () => true,
) {
  const stored = new Map<string, AdapterPayload>()
  const metadata: AdapterPayload = {
    client_id: APP.id,
    // oidc-provider requires a secret, but never compares this one.
    client_secret: 'unused',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    redirect_uris: [...APP.redirectUris],
  }
  const adapters: Record<string, Partial<Adapter>> = {
    Client: { find: async (id) => (id === APP.id ? metadata : undefined) },
    ...models,
  }
  const deps: ProviderDeps = {
    urls: createServiceUrls(ORIGIN),
    adapter: (model) => ({ ...createMemoryAdapter(stored), ...adapters[model] }),
    internalClientSecret: createInternalClientSecret(),
    dpopNonceSecret: Buffer.alloc(32, 7),
    markProofUsed: markUsed,
    connections: { find: async () => CONNECTION },
    limiter: { take: async (policy) => ({ policy, allowed: true, remaining: 1, resetSeconds: 1 }) },
    cookieKey: 'cookie-key',
    now: () => new Date(),
  }
  return { provider: createProvider(deps), internalClientSecret: deps.internalClientSecret, stored }
}
export type TestProvider = ReturnType<typeof createTestProvider>

/** Creates the Koa context of a POST request, without a network connection. */
export function createContext(path: string, headers: Record<string, string> = {}): Context {
  const request = new IncomingMessage(new Socket())
  Object.assign(request, { method: 'POST', url: path, headers: { host: 'plainpath.example', ...headers } })
  return new Koa().createContext(request, new ServerResponse(request)) as Context
}

/** Creates a token request with a new DPoP proof, by default without a nonce. Returns the thumbprint of its key as `jkt`. */
export async function createProofRequest({ jti = 'jti-1', nonce }: { jti?: string; nonce?: string } = {}) {
  const dpopKey = await generateJwkPair('ES256', { extractable: true })
  const jwk: JWK = await exportJWK(dpopKey.publicKey)
  const proof = await new SignJWT({ jti, htm: 'POST', htu: `${ORIGIN}/oauth/token`, ...(nonce && { nonce }) })
    .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk })
    .setIssuedAt()
    .sign(dpopKey.privateKey)
  const ctx = createContext(OAUTH_PATHS.token, { dpop: proof })
  return { ctx, jkt: await calculateJwkThumbprint(jwk) }
}

/** Gets a nonce from the refusal of a proof that has none. */
export async function fetchNonce({ provider }: TestProvider): Promise<string> {
  const { ctx } = await createProofRequest()
  await expect(validateProof(provider, ctx)).rejects.toMatchObject({ code: 'use-dpop-nonce' })
  return ctx.response.get('dpop-nonce')
}
