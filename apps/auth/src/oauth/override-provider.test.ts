import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { StandingVerification } from '@plainpath/domain'
import { Problem } from '@plainpath/http'
import { serviceUrls } from '@plainpath/metadata'
import {
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair as generateJwkPair,
  importJWK,
  type JWK,
  jwtVerify,
  SignJWT,
} from 'jose'
import Koa, { type Context } from 'koa'
import compose from 'koa-compose'
import type { Adapter, AdapterPayload, AllClientMetadata } from 'oidc-provider'
import { expect, test } from 'vitest'
import { CREDENTIAL_VERSION } from '../clients/client-authenticator.ts'
import { generateKeyPair } from '../keys/signing-key.ts'
import { createProvider, OAUTH_PATHS, type ProviderDeps } from './create-provider.ts'
import {
  createInternalClientSecret,
  getCredentialVersion,
  INTROSPECTED_HASH,
  passToProvider,
} from './override-provider.ts'
import { createReadOnlyAdapter } from './provider-adapters.ts'
import { throwProviderFailure } from './provider-failure.ts'

const ORIGIN = 'https://plainpath.example'
const AGENT = `agt_${'A'.repeat(22)}`
const API = { client_id: 'rs_api', audience: `${ORIGIN}/api`, secrets: [`sha256:${'A'.repeat(43)}`] }
const key = generateKeyPair('ES256')
const NO_LIMITS: ProviderDeps['limiter'] = {
  take: async () => {
    throw new Error('nothing is counted here')
  },
}
const metadataOf = (members: Partial<AllClientMetadata>): AllClientMetadata => ({
  client_id: AGENT,
  client_secret: 'what the library wants',
  grant_types: ['client_credentials'],
  response_types: [],
  redirect_uris: [],
  scope: 'guides:read waitlist:write',
  ...members,
})

/** A Provider with tokens in memory, and what it stored. */
function open(
  models: Record<string, Partial<Adapter>> = {},
  markProofUsed: ProviderDeps['markProofUsed'] = async () => true,
  verification?: StandingVerification,
) {
  const stored = new Map<string, AdapterPayload>()
  const adapters: Record<string, Partial<Adapter>> = {
    Client: {
      find: async (id) =>
        id === AGENT ? metadataOf({}) : metadataOf({ client_id: id, grant_types: [], scope: undefined }),
    },
    ClientCredentials: {
      upsert: async (id, payload) => void stored.set(id, payload),
      find: async (id) => stored.get(id),
    },
    ...models,
  }
  const deps: ProviderDeps = {
    urls: serviceUrls(ORIGIN),
    adapter: (model) => ({ ...createReadOnlyAdapter(`${model} is not written here`), ...adapters[model] }),
    keys: { signing: key.privateJwk, published: [key.publicJwk] },
    internalClientSecret: createInternalClientSecret(),
    resourceServers: () => [API],
    dpopNonceSecret: Buffer.alloc(32, 7),
    markProofUsed,
    verifyPresentedAssertion: async () => verification,
    findPerson: async () => undefined,
    connections: { find: async () => undefined },
    limiter: NO_LIMITS,
    cookieKey: 'cookie-key',
    now: () => new Date(),
    getStoreMark: () => 'mark-1',
  }
  return { provider: createProvider(deps), internalClientSecret: deps.internalClientSecret, stored }
}
type Opened = ReturnType<typeof open>

function contextOf(path: string, headers: Record<string, string> = {}): Context {
  const request = new IncomingMessage(new Socket())
  Object.assign(request, { method: 'POST', url: path, headers: { host: 'plainpath.example', ...headers } })
  return new Koa().createContext(request, new ServerResponse(request)) as Context
}

/** Passes a form to the library as the routes do. */
async function pass(
  { provider, internalClientSecret }: Opened,
  ctx: Context,
  form: Record<string, string>,
  clientId = AGENT,
): Promise<Context> {
  const slot = { middleware: compose(provider.middleware) }
  await passToProvider(ctx, { provider: slot, internalClientSecret }, new URLSearchParams(form), clientId)
  return ctx
}
const TOKEN = { grant_type: 'client_credentials' }
const getToken = async (opened: Opened, form: Record<string, string> = {}) =>
  (await pass(opened, contextOf(OAUTH_PATHS.token), { ...TOKEN, ...form })).body as {
    access_token: string
    scope: string
  }

test('builds URLs from the configured origin, whatever the Host header says', () => {
  const { provider } = open()
  const request = new IncomingMessage(new Socket())
  request.headers.host = 'evil.example'
  request.url = 'http://evil.example/oauth/token'
  const ctx = provider.createContext(request, new ServerResponse(request))
  expect(ctx.href).toContain('evil.example')
  const oidc = new provider.OIDCContext(ctx)
  expect(oidc.urlFor('token')).toBe('https://plainpath.example/oauth/token')
  expect(oidc.urlFor('introspection')).toBe('https://plainpath.example/oauth/introspect')
})

test('issues and stores tokens of ppt_ and 43 characters', async () => {
  const opened = open()
  const { access_token: token } = await getToken(opened)
  expect(token).toMatch(/^ppt_[A-Za-z0-9_-]{43}$/)
  expect([...opened.stored.keys()]).toEqual([token])
})

test('prefixes the tokens of apps too', () => {
  const { AccessToken, RefreshToken } = open().provider
  const generate = ({ prototype }: { prototype: object }, kind: string) =>
    (prototype as { generateTokenId(): string }).generateTokenId.call({ kind })
  expect(generate(AccessToken, 'AccessToken')).toMatch(/^ppt_[A-Za-z0-9_-]{43}$/)
  expect(generate(RefreshToken, 'RefreshToken')).toMatch(/^ppr_[A-Za-z0-9_-]{43}$/)
})

test('accepts a client only with the internal secret for that client', async () => {
  const { provider, internalClientSecret } = open()
  const client = await provider.Client.find(AGENT)
  expect(client?.compareClientSecret(internalClientSecret(AGENT))).toBe(true)
  for (const presented of [
    '',
    'what the library wants',
    AGENT,
    internalClientSecret(`agt_${'B'.repeat(22)}`),
    createInternalClientSecret()(AGENT),
  ])
    expect(client?.compareClientSecret(presented), presented).toBe(false)
  const stranger = { ...open(), internalClientSecret: createInternalClientSecret() }
  await expect(getToken(stranger)).rejects.toMatchObject({ code: 'invalid-client' })
})

/** More clients than the library caches. */
const MANY_CLIENTS = 300

test('caches a client exactly as long as its metadata is the same object', async () => {
  const known = new Map([[AGENT, metadataOf({ scope: 'guides:read' })]])
  const others = Array.from({ length: MANY_CLIENTS }, (_, n) => `agt_${String(n).padStart(22, '0')}`)
  for (const id of others) known.set(id, metadataOf({ client_id: id }))
  const opened = open({ Client: { find: async (id) => known.get(id) } })
  const { Client } = opened.provider
  const first = await Client.find(AGENT)
  expect(first?.scope).toBe('guides:read')
  for (const id of others) await Client.find(id)
  expect(await Client.find(AGENT)).toBe(first)
  const ctx = await pass(opened, contextOf(OAUTH_PATHS.token), TOKEN)
  expect((ctx as Context & { oidc: { client: unknown } }).oidc.client).toBe(first)
  known.set(AGENT, metadataOf({ scope: 'waitlist:write' }))
  expect((await Client.find(AGENT))?.scope).toBe('waitlist:write')
  known.delete(AGENT)
  expect(await Client.find(AGENT)).toBeUndefined()
})

test('can read the generation from the request while a token is stored', async () => {
  const read: unknown[] = []
  const opened = open({
    ClientCredentials: { upsert: async () => void read.push(getCredentialVersion()) },
  })
  for (const credentialVersion of [7, undefined]) {
    const ctx = contextOf(OAUTH_PATHS.token)
    ctx.state[CREDENTIAL_VERSION] = credentialVersion
    await pass(opened, ctx, TOKEN)
  }
  expect(read).toEqual([7, undefined])
  expect(getCredentialVersion()).toBeUndefined()
})

test('signs introspection responses, which name their token', async () => {
  const opened = open()
  const { access_token: token } = await getToken(opened, { scope: 'guides:read' })
  const ctx = contextOf(OAUTH_PATHS.introspection, { accept: 'application/token-introspection+jwt' })
  ctx.state[INTROSPECTED_HASH] = 'hash of the token'
  await pass(opened, ctx, { token }, API.client_id)
  expect(ctx.response.get('content-type')).toContain('application/token-introspection+jwt')
  const { payload, protectedHeader } = await jwtVerify(
    String(ctx.body),
    await importJWK(key.publicJwk as JWK, 'ES256'),
    { issuer: ORIGIN, audience: API.client_id, typ: 'token-introspection+jwt' },
  )
  expect(protectedHeader.kid).toBe(key.kid)
  expect(payload).toEqual({
    iss: ORIGIN,
    aud: API.client_id,
    iat: expect.any(Number),
    token_hash: 'hash of the token',
    revocation_mark: 'mark-1',
    token_introspection: {
      active: true,
      client_id: AGENT,
      exp: expect.any(Number),
      iat: expect.any(Number),
      iss: ORIGIN,
      aud: `${ORIGIN}/api`,
      scope: 'guides:read',
      token_type: 'Bearer',
    },
  })
})

/** A request with a proof of this moment, but for the nonce. */
async function withProof(opened: Opened, { jti = 'jti-1', nonce }: { jti?: string; nonce?: string } = {}) {
  const dpopKey = await generateJwkPair('ES256', { extractable: true })
  const jwk = await exportJWK(dpopKey.publicKey)
  const proof = await new SignJWT({ jti, htm: 'POST', htu: `${ORIGIN}/oauth/token`, ...(nonce && { nonce }) })
    .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk })
    .setIssuedAt()
    .sign(dpopKey.privateKey)
  const ctx = contextOf(OAUTH_PATHS.token, { dpop: proof })
  return { ctx, jkt: await calculateJwkThumbprint(jwk), opened }
}

/** The nonce that the library offers. */
async function offeredNonce(opened: Opened): Promise<string> {
  const { ctx } = await withProof(opened)
  await expect(pass(opened, ctx, TOKEN)).rejects.toMatchObject({ code: 'use-dpop-nonce' })
  return ctx.response.get('dpop-nonce')
}

test('marks each DPoP proof as used in one step', async () => {
  const used: unknown[] = []
  let isNew = true
  const opened = open({}, async (proof) => {
    used.push(proof)
    return isNew
  })
  const nonce = await offeredNonce(opened)
  expect(used).toEqual([])
  const { ctx, jkt } = await withProof(opened, { nonce })
  expect((await pass(opened, ctx, TOKEN)).body).toMatchObject({ token_type: 'DPoP' })
  expect(used).toEqual([{ clientId: AGENT, jti: 'jti-1', expiresAt: expect.any(Date) }])
  expect([...opened.stored.values()]).toMatchObject([{ jkt }])
  isNew = false
  const second = await withProof(opened, { nonce, jti: 'jti-2' })
  await expect(pass(opened, second.ctx, TOKEN)).rejects.toMatchObject({
    code: 'invalid-dpop-proof',
    options: { detail: expect.stringContaining('used before') },
  })
  expect(opened.stored.size).toBe(1)
})

test('the checks for own grants bind a token to the key of its proof', async () => {
  const verification = {
    id: 'reg_1',
    expiresAt: new Date(Date.now() + 60_000),
  } as unknown as StandingVerification
  const grant_types = ['urn:ietf:params:oauth:grant-type:jwt-bearer']
  const bound = { dpop_bound_access_tokens: true }
  for (const members of [{}, bound]) {
    const used: unknown[] = []
    const client = metadataOf({ grant_types, ...members })
    const opened = open(
      { Client: { find: async () => client } },
      async (proof) => used.push(proof) > 0,
      verification,
    )
    const form = { grant_type: grant_types[0]!, assertion: 'x', scope: 'guides:read' }
    const nonce = await offeredNonce(open({}))
    const { ctx, jkt } = await withProof(opened, { nonce })
    expect((await pass(opened, ctx, form)).body).toMatchObject({ token_type: 'DPoP' })
    expect([...opened.stored.values()]).toMatchObject([{ jkt }])
    expect(used).toHaveLength(1)
    const without = pass(opened, contextOf(OAUTH_PATHS.token), form)
    if ('dpop_bound_access_tokens' in members)
      await expect(without).rejects.toMatchObject({ code: 'dpop-proof-required' })
    else expect((await without).body).toMatchObject({ token_type: 'Bearer' })
  }
})

test('rethrows errors from inside the library unchanged', async () => {
  const surprise = new Error('connect ECONNREFUSED')
  const failing = async () => {
    throw surprise
  }
  await expect(getToken(open({ ClientCredentials: { upsert: failing } }))).rejects.toBe(surprise)
  await expect(getToken(open({ Client: { find: failing } }))).rejects.toBe(surprise)
  const opened = open()
  const { access_token: token } = await getToken(opened)
  await expect(
    pass(opened, contextOf(OAUTH_PATHS.revocation), { token }, API.client_id),
  ).rejects.toMatchObject({
    code: 'foreign-token',
  })
})

test('the library adds no CORS headers of its own', async () => {
  const origin = 'https://app.example'
  const opened = open()
  const refused = await pass(opened, contextOf(OAUTH_PATHS.token, { origin }), TOKEN)
  expect(Object.keys(refused.response.headers).filter((name) => /^access-control-|^vary/.test(name))).toEqual(
    [],
  )
  const allowed = contextOf(OAUTH_PATHS.token, { origin })
  allowed.set({ 'access-control-allow-origin': origin, 'access-control-expose-headers': 'X-Ours' })
  await pass(opened, allowed, TOKEN)
  expect(allowed.response.headers).toMatchObject({
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'X-Ours',
  })
})

test('the library reads the form that the route has read', async () => {
  const ctx = contextOf(OAUTH_PATHS.token, {
    authorization: `Basic ${btoa('somebody:else')}`,
    'content-type': 'text/plain',
    'content-length': '5',
    'transfer-encoding': 'chunked',
  })
  const form = { ...TOKEN, scope: 'guides:read', client_id: 'somebody', client_assertion: 'else' }
  expect((await pass(open(), ctx, form)).body).toMatchObject({ scope: 'guides:read', expires_in: 3600 })
})

test('the token gets the scope that is set in getResourceServerInfo', async () => {
  const opened = open()
  expect((await getToken(opened)).scope).toBe('guides:read waitlist:write')
  expect((await getToken(opened, { scope: 'waitlist:write contact:write' })).scope).toBe('waitlist:write')
  await expect(getToken(opened, { scope: 'contact:write' })).rejects.toMatchObject({ code: 'invalid-scope' })
})

test('rejects a grant that the client may not use with unauthorized_client', async () => {
  const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: 'x' }
  await expect(getToken(open(), grant)).rejects.toMatchObject({ code: 'unauthorized-client' })
})

/** The part of the library's result that the tests read. */
const responseWith = (status: number, body: unknown, thrown?: unknown) =>
  ({ status, body, state: { ...(thrown !== undefined && { thrown }) } }) as unknown as Context

function failure(status: number, body: unknown): Problem {
  try {
    throwProviderFailure(responseWith(status, body))
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

test('rejects a known grant that the client may not use with unauthorized_client', () => {
  const body = {
    error: 'invalid_request',
    error_description: 'requested grant type is not allowed for this client',
  }
  expect(failure(400, body).code).toBe('unauthorized-client')
})

test.for([
  ['invalid_client', 'invalid-client'],
  ['invalid_grant', 'invalid-grant'],
  ['invalid_scope', 'invalid-scope'],
  ['invalid_target', 'invalid-target'],
  ['unsupported_grant_type', 'unsupported-grant-type'],
  ['server_error', 'internal-error'],
  ['temporarily_unavailable', 'unavailable'],
  ['a code of tomorrow', 'invalid-request'],
])('%s of the library is %s', ([error, code]) => {
  expect(failure(400, { error }).code).toBe(code)
})

test('passes on no response that is not an OAuth error', () => {
  expect(failure(404, '<html>').code).toBe('not-found')
  expect(failure(500, { stack: 'at lib/x.js:1:1' }).code).toBe('invalid-request')
})

test('rethrows errors from inside the library unchanged, and leaves a success alone', () => {
  const surprise = new Error('connect ECONNREFUSED')
  expect(() => throwProviderFailure(responseWith(500, { error: 'server_error' }, surprise))).toThrow(surprise)
  expect(() => throwProviderFailure(responseWith(200, { access_token: 'x' }))).not.toThrow()
})
