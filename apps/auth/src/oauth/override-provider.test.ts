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
const createMetadata = (members: Partial<AllClientMetadata>): AllClientMetadata => ({
  client_id: AGENT,
  client_secret: 'what the library wants',
  grant_types: ['client_credentials'],
  response_types: [],
  redirect_uris: [],
  scope: 'guides:read waitlist:write',
  ...members,
})

/** Creates a Provider that stores tokens in memory. `models` replaces its adapters, `verification` is that of any assertion. */
function openProvider(
  models: Record<string, Partial<Adapter>> = {},
  markProofUsed: ProviderDeps['markProofUsed'] = async () => true,
  verification?: StandingVerification,
) {
  const stored = new Map<string, AdapterPayload>()
  const adapters: Record<string, Partial<Adapter>> = {
    Client: {
      find: async (id) =>
        createMetadata(id === AGENT ? {} : { client_id: id, grant_types: [], scope: undefined }),
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
type OpenedProvider = ReturnType<typeof openProvider>

function createContext(path: string, headers: Record<string, string> = {}): Context {
  const request = new IncomingMessage(new Socket())
  Object.assign(request, { method: 'POST', url: path, headers: { host: 'plainpath.example', ...headers } })
  return new Koa().createContext(request, new ServerResponse(request)) as Context
}

/** Passes a form to the library as the routes do. */
async function passForm(
  { provider, internalClientSecret }: OpenedProvider,
  ctx: Context,
  form: Record<string, string>,
  clientId = AGENT,
): Promise<Context> {
  const slot = { middleware: compose(provider.middleware) }
  await passToProvider(ctx, { provider: slot, internalClientSecret }, new URLSearchParams(form), clientId)
  return ctx
}
const TOKEN = { grant_type: 'client_credentials' }
const fetchToken = async (opened: OpenedProvider, form: Record<string, string> = {}) =>
  (await passForm(opened, createContext(OAUTH_PATHS.token), { ...TOKEN, ...form })).body as {
    access_token: string
    scope: string
  }

test('builds URLs from the configured origin, whatever the Host header says', () => {
  const { provider } = openProvider()
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
  const opened = openProvider()
  const { access_token: token } = await fetchToken(opened)
  expect(token).toMatch(/^ppt_[A-Za-z0-9_-]{43}$/)
  expect([...opened.stored.keys()]).toEqual([token])
})

test('prefixes the tokens of apps too', () => {
  const { AccessToken, RefreshToken } = openProvider().provider
  const generate = ({ prototype }: { prototype: object }, kind: string) =>
    (prototype as { generateTokenId(): string }).generateTokenId.call({ kind })
  expect(generate(AccessToken, 'AccessToken')).toMatch(/^ppt_[A-Za-z0-9_-]{43}$/)
  expect(generate(RefreshToken, 'RefreshToken')).toMatch(/^ppr_[A-Za-z0-9_-]{43}$/)
})

test('accepts a client only with the internal secret for that client', async () => {
  const { provider, internalClientSecret } = openProvider()
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
  const withOtherSecret = { ...openProvider(), internalClientSecret: createInternalClientSecret() }
  await expect(fetchToken(withOtherSecret)).rejects.toMatchObject({ code: 'invalid-client' })
})

/** More clients than the library caches. */
const MANY_CLIENTS = 300

test('caches a client exactly as long as its metadata is the same object', async () => {
  const metadataById = new Map([[AGENT, createMetadata({ scope: 'guides:read' })]])
  const otherIds = Array.from({ length: MANY_CLIENTS }, (_, n) => `agt_${String(n).padStart(22, '0')}`)
  for (const id of otherIds) metadataById.set(id, createMetadata({ client_id: id }))
  const opened = openProvider({ Client: { find: async (id) => metadataById.get(id) } })
  const { Client } = opened.provider
  const client = await Client.find(AGENT)
  expect(client?.scope).toBe('guides:read')
  for (const id of otherIds) await Client.find(id)
  expect(await Client.find(AGENT)).toBe(client)
  const ctx = await passForm(opened, createContext(OAUTH_PATHS.token), TOKEN)
  expect((ctx as Context & { oidc: { client: unknown } }).oidc.client).toBe(client)
  metadataById.set(AGENT, createMetadata({ scope: 'waitlist:write' }))
  expect((await Client.find(AGENT))?.scope).toBe('waitlist:write')
  metadataById.delete(AGENT)
  expect(await Client.find(AGENT)).toBeUndefined()
})

test('reads the credential version of the request while a token is stored', async () => {
  const versions: unknown[] = []
  const opened = openProvider({
    ClientCredentials: { upsert: async () => void versions.push(getCredentialVersion()) },
  })
  for (const credentialVersion of [7, undefined]) {
    const ctx = createContext(OAUTH_PATHS.token)
    ctx.state[CREDENTIAL_VERSION] = credentialVersion
    await passForm(opened, ctx, TOKEN)
  }
  expect(versions).toEqual([7, undefined])
  expect(getCredentialVersion()).toBeUndefined()
})

test('signs introspection responses, which name their token', async () => {
  const opened = openProvider()
  const { access_token: token } = await fetchToken(opened, { scope: 'guides:read' })
  const ctx = createContext(OAUTH_PATHS.introspection, { accept: 'application/token-introspection+jwt' })
  ctx.state[INTROSPECTED_HASH] = 'hash of the token'
  await passForm(opened, ctx, { token }, API.client_id)
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

/** Creates a token request with a new DPoP proof, by default without a nonce. */
async function createProofRequest({ jti = 'jti-1', nonce }: { jti?: string; nonce?: string } = {}) {
  const dpopKey = await generateJwkPair('ES256', { extractable: true })
  const jwk = await exportJWK(dpopKey.publicKey)
  const proof = await new SignJWT({ jti, htm: 'POST', htu: `${ORIGIN}/oauth/token`, ...(nonce && { nonce }) })
    .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk })
    .setIssuedAt()
    .sign(dpopKey.privateKey)
  const ctx = createContext(OAUTH_PATHS.token, { dpop: proof })
  return { ctx, jkt: await calculateJwkThumbprint(jwk) }
}

/** Returns the nonce that the library sends when it refuses a proof without one. */
async function fetchNonce(opened: OpenedProvider): Promise<string> {
  const { ctx } = await createProofRequest()
  await expect(passForm(opened, ctx, TOKEN)).rejects.toMatchObject({ code: 'use-dpop-nonce' })
  return ctx.response.get('dpop-nonce')
}

test('marks each DPoP proof as used in one step', async () => {
  const usedProofs: unknown[] = []
  let isNew = true
  const opened = openProvider({}, async (proof) => {
    usedProofs.push(proof)
    return isNew
  })
  const nonce = await fetchNonce(opened)
  expect(usedProofs).toEqual([])
  const { ctx, jkt } = await createProofRequest({ nonce })
  expect((await passForm(opened, ctx, TOKEN)).body).toMatchObject({ token_type: 'DPoP' })
  expect(usedProofs).toEqual([{ clientId: AGENT, jti: 'jti-1', expiresAt: expect.any(Date) }])
  expect([...opened.stored.values()]).toMatchObject([{ jkt }])
  isNew = false
  const second = await createProofRequest({ nonce, jti: 'jti-2' })
  await expect(passForm(opened, second.ctx, TOKEN)).rejects.toMatchObject({
    code: 'invalid-dpop-proof',
    options: { detail: expect.stringContaining('used before') },
  })
  expect(opened.stored.size).toBe(1)
})

test('the checks for additional grants bind a token to the key of its proof', async () => {
  const verification = {
    id: 'reg_1',
    expiresAt: new Date(Date.now() + 60_000),
  } as unknown as StandingVerification
  const grant_types = ['urn:ietf:params:oauth:grant-type:jwt-bearer']
  const boundMembers = { dpop_bound_access_tokens: true }
  for (const members of [{}, boundMembers]) {
    const usedProofs: unknown[] = []
    const client = createMetadata({ grant_types, ...members })
    const opened = openProvider(
      { Client: { find: async () => client } },
      async (proof) => usedProofs.push(proof) > 0,
      verification,
    )
    const form = { grant_type: grant_types[0]!, assertion: 'x', scope: 'guides:read' }
    const nonce = await fetchNonce(openProvider({}))
    const { ctx, jkt } = await createProofRequest({ nonce })
    expect((await passForm(opened, ctx, form)).body).toMatchObject({ token_type: 'DPoP' })
    expect([...opened.stored.values()]).toMatchObject([{ jkt }])
    expect(usedProofs).toHaveLength(1)
    const withoutProof = passForm(opened, createContext(OAUTH_PATHS.token), form)
    if ('dpop_bound_access_tokens' in members)
      await expect(withoutProof).rejects.toMatchObject({ code: 'dpop-proof-required' })
    else expect((await withoutProof).body).toMatchObject({ token_type: 'Bearer' })
  }
})

test('rethrows errors from inside the library unchanged', async () => {
  const thrownError = new Error('connect ECONNREFUSED')
  const failing = async () => {
    throw thrownError
  }
  await expect(fetchToken(openProvider({ ClientCredentials: { upsert: failing } }))).rejects.toBe(thrownError)
  await expect(fetchToken(openProvider({ Client: { find: failing } }))).rejects.toBe(thrownError)
  const opened = openProvider()
  const { access_token: token } = await fetchToken(opened)
  await expect(
    passForm(opened, createContext(OAUTH_PATHS.revocation), { token }, API.client_id),
  ).rejects.toMatchObject({
    code: 'foreign-token',
  })
})

test('the library adds no CORS headers of its own', async () => {
  const origin = 'https://app.example'
  const opened = openProvider()
  const withoutCors = await passForm(opened, createContext(OAUTH_PATHS.token, { origin }), TOKEN)
  const headerNames = Object.keys(withoutCors.response.headers)
  expect(headerNames.filter((name) => /^access-control-|^vary/.test(name))).toEqual([])
  const withCors = createContext(OAUTH_PATHS.token, { origin })
  withCors.set({ 'access-control-allow-origin': origin, 'access-control-expose-headers': 'X-Ours' })
  await passForm(opened, withCors, TOKEN)
  expect(withCors.response.headers).toMatchObject({
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'X-Ours',
  })
})

test('the library reads the form that the route has read', async () => {
  const ctx = createContext(OAUTH_PATHS.token, {
    authorization: `Basic ${btoa('somebody:else')}`,
    'content-type': 'text/plain',
    'content-length': '5',
    'transfer-encoding': 'chunked',
  })
  const form = { ...TOKEN, scope: 'guides:read', client_id: 'somebody', client_assertion: 'else' }
  const { body } = await passForm(openProvider(), ctx, form)
  expect(body).toMatchObject({ scope: 'guides:read', expires_in: 3600 })
})

test('the token gets the scope that is set in getResourceServerInfo', async () => {
  const opened = openProvider()
  expect((await fetchToken(opened)).scope).toBe('guides:read waitlist:write')
  expect((await fetchToken(opened, { scope: 'waitlist:write contact:write' })).scope).toBe('waitlist:write')
  const refusal = fetchToken(opened, { scope: 'contact:write' })
  await expect(refusal).rejects.toMatchObject({ code: 'invalid-scope' })
})

test('rejects a grant that the client may not use with unauthorized_client', async () => {
  const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: 'x' }
  await expect(fetchToken(openProvider(), grant)).rejects.toMatchObject({ code: 'unauthorized-client' })
})

/** Creates the part of a context that `throwProviderFailure` reads. */
const createResponseContext = (status: number, body: unknown, thrown?: unknown) =>
  ({ status, body, state: { ...(thrown !== undefined && { thrown }) } }) as unknown as Context

function catchFailure(status: number, body: unknown): Problem {
  try {
    throwProviderFailure(createResponseContext(status, body))
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

test('recognises the text with which the library reports a grant that is not allowed', () => {
  const body = {
    error: 'invalid_request',
    error_description: 'requested grant type is not allowed for this client',
  }
  expect(catchFailure(400, body).code).toBe('unauthorized-client')
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
])('converts the library error %s to the problem %s', ([error, code]) => {
  expect(catchFailure(400, { error }).code).toBe(code)
})

test('replaces error responses that are not OAuth errors', () => {
  expect(catchFailure(404, '<html>').code).toBe('not-found')
  expect(catchFailure(500, { stack: 'at lib/x.js:1:1' }).code).toBe('invalid-request')
})

test('throwProviderFailure rethrows a recorded error unchanged, and throws nothing for a success', () => {
  const thrownError = new Error('connect ECONNREFUSED')
  const failure = createResponseContext(500, { error: 'server_error' }, thrownError)
  expect(() => throwProviderFailure(failure)).toThrow(thrownError)
  const success = createResponseContext(200, { access_token: 'x' })
  expect(() => throwProviderFailure(success)).not.toThrow()
})
