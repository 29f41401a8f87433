import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { Problem } from '@plainpath/http'
import { createServiceUrls } from '@plainpath/metadata'
import type { Context } from 'koa'
import { expect, test } from 'vitest'
import {
  AGENT,
  APP,
  createContext,
  createProofRequest,
  createTestProvider,
  fetchNonce,
  ORIGIN,
  type TestProvider,
} from '../../test/create-test-provider.ts'
import { recordAppRequest } from './app-request.ts'
import { APP_SCOPE, OAUTH_PATHS } from './create-provider.ts'
import { consumeProof, validateProof } from './override-proofs.ts'
import { createInternalClientSecret, passToProvider } from './override-provider.ts'
import { throwProviderFailure } from './provider-failure.ts'

/** Passes a form of the app to the library as the routes do. */
async function passForm(
  testProvider: TestProvider,
  ctx: Context,
  form: Record<string, string>,
): Promise<Context> {
  recordAppRequest(ctx, APP)
  await passToProvider(ctx, testProvider, new URLSearchParams(form), APP.id)
  return ctx
}

/** Saves a new code of the connection, and returns the form that redeems it. */
async function createCodeForm({ provider }: TestProvider): Promise<Record<string, string>> {
  const client = await provider.Client.find(APP.id)
  if (!client) throw new Error('the app was not found')
  const grant = new provider.Grant({ accountId: AGENT, clientId: APP.id })
  const { signedInMcp } = createServiceUrls(ORIGIN)
  grant.addOIDCScope(APP_SCOPE)
  grant.addResourceScope(signedInMcp, APP_SCOPE)
  const [redirectUri = ''] = APP.redirectUris
  const code = new provider.AuthorizationCode({
    accountId: AGENT,
    client,
    grantId: await grant.save(),
    gty: 'authorization_code',
    redirectUri,
    resource: signedInMcp,
    scope: APP_SCOPE,
  })
  return { grant_type: 'authorization_code', code: await code.save(), redirect_uri: redirectUri }
}
const fetchToken = async (testProvider: TestProvider, ctx = createContext(OAUTH_PATHS.token)) =>
  (await passForm(testProvider, ctx, await createCodeForm(testProvider))).body as Record<string, unknown>

test('builds URLs from the configured origin, whatever the Host header says', () => {
  const { provider } = createTestProvider()
  const request = new IncomingMessage(new Socket())
  request.headers.host = 'evil.example'
  request.url = 'http://evil.example/oauth/token'
  const ctx = provider.createContext(request, new ServerResponse(request))
  expect(ctx.href).toContain('evil.example')
  const oidc = new provider.OIDCContext(ctx)
  expect(oidc.urlFor('token')).toBe('https://plainpath.example/oauth/token')
  expect(oidc.urlFor('authorization')).toBe('https://plainpath.example/oauth/authorize')
})

test('prefixes the tokens of apps', () => {
  const { AccessToken, RefreshToken } = createTestProvider().provider
  const generateTokenId = ({ prototype }: { prototype: object }, kind: string) =>
    (prototype as { generateTokenId(): string }).generateTokenId.call({ kind })
  expect(generateTokenId(AccessToken, 'AccessToken')).toMatch(/^ppt_[A-Za-z0-9_-]{43}$/)
  expect(generateTokenId(RefreshToken, 'RefreshToken')).toMatch(/^ppr_[A-Za-z0-9_-]{43}$/)
})

test('accepts a client only with the internal secret for that client', async () => {
  const testProvider = createTestProvider()
  const client = await testProvider.provider.Client.find(APP.id)
  expect(client?.compareClientSecret(testProvider.internalClientSecret(APP.id))).toBe(true)
  for (const presentedSecret of [
    '',
    // The secret in the metadata of `createTestProvider`, which the library requires.
    'unused',
    APP.id,
    testProvider.internalClientSecret(`app_${'B'.repeat(22)}`),
    createInternalClientSecret()(APP.id),
  ])
    expect(client?.compareClientSecret(presentedSecret), presentedSecret).toBe(false)
  // With a secret of another process, the token request as a whole fails too.
  const withOtherSecret = { ...createTestProvider(), internalClientSecret: createInternalClientSecret() }
  await expect(fetchToken(withOtherSecret)).rejects.toMatchObject({ code: 'invalid-client' })
})

/** Creates a Provider that records each proof that it marks as used, and accepts a proof only while `isNew` is true. */
function createProofProvider() {
  const markedProofs = { all: [] as unknown[], isNew: true }
  const testProvider = createTestProvider({}, async (proof) => {
    markedProofs.all.push(proof)
    return markedProofs.isNew
  })
  return { testProvider, markedProofs }
}

/** The members of the `Problem` for a proof that was used before. */
const REPLAY_PROBLEM = {
  code: 'invalid-dpop-proof',
  options: { detail: expect.stringContaining('used before') as unknown },
}

test('marks each DPoP proof as used in one step', async () => {
  const { testProvider, markedProofs } = createProofProvider()
  const nonce = await fetchNonce(testProvider)
  expect(markedProofs.all).toEqual([])
  const { ctx, jkt } = await createProofRequest({ nonce })
  expect(await fetchToken(testProvider, ctx)).toMatchObject({ token_type: 'DPoP' })
  expect(markedProofs.all).toEqual([{ clientId: APP.id, jti: 'jti-1', expiresAt: expect.any(Date) }])
  expect([...testProvider.stored.values()]).toContainEqual(
    expect.objectContaining({ kind: 'AccessToken', jkt }),
  )
  markedProofs.isNew = false
  const secondRequest = await createProofRequest({ nonce, jti: 'jti-2' })
  await expect(fetchToken(testProvider, secondRequest.ctx)).rejects.toMatchObject(REPLAY_PROBLEM)
})

test('binds the refresh token of a public app to the key of its proof', async () => {
  const { testProvider } = createProofProvider()
  const nonce = await fetchNonce(testProvider)
  const { ctx, jkt } = await createProofRequest({ nonce })
  await fetchToken(testProvider, ctx)
  const listStored = () => [...testProvider.stored.values()].filter(({ kind }) => kind === 'RefreshToken')
  expect(listStored()).toMatchObject([{ jkt }])
  // The same request without a proof stores an unbound refresh token.
  testProvider.stored.clear()
  await fetchToken(testProvider)
  expect(listStored().map((token) => token['jkt'])).toEqual([undefined])
})

test('validates proofs for the grants of agents, and marks them as used', async () => {
  const { testProvider, markedProofs } = createProofProvider()
  const { provider } = testProvider
  expect(await validateProof(provider, createContext(OAUTH_PATHS.token))).toBeUndefined()
  const nonce = await fetchNonce(testProvider)
  const { ctx, jkt } = await createProofRequest({ nonce })
  const proof = await validateProof(provider, ctx)
  expect(proof).toMatchObject({ thumbprint: jkt, jti: 'jti-1' })
  expect(markedProofs.all).toEqual([])
  if (!proof) throw new Error('the proof was not validated')
  await consumeProof(provider, ctx, proof, AGENT)
  expect(markedProofs.all).toEqual([{ clientId: AGENT, jti: 'jti-1', expiresAt: expect.any(Date) }])
  markedProofs.isNew = false
  await expect(consumeProof(provider, ctx, proof, AGENT)).rejects.toMatchObject(REPLAY_PROBLEM)
  // The header and the signature of a valid proof, with other claims.
  const [header, , signature] = String(ctx.req.headers['dpop']).split('.')
  const claims = {
    jti: 'jti-2',
    htm: 'POST',
    htu: `${ORIGIN}/oauth/token`,
    iat: Math.floor(Date.now() / 1000),
    nonce,
  }
  const forged = [header, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.')
  const validation = validateProof(provider, createContext(OAUTH_PATHS.token, { dpop: forged }))
  await expect(validation).rejects.toMatchObject({
    code: 'invalid-dpop-proof',
    options: { detail: expect.stringContaining('signature') },
  })
})

test('rethrows errors from inside the library unchanged', async () => {
  const thrownError = new Error('connect ECONNREFUSED')
  const fail = async () => {
    throw thrownError
  }
  await expect(fetchToken(createTestProvider({ AccessToken: { upsert: fail } }))).rejects.toBe(thrownError)
  const testProvider = createTestProvider()
  const form = await createCodeForm(testProvider)
  const failingProvider = {
    ...testProvider,
    provider: createTestProvider({ Client: { find: fail } }).provider,
  }
  await expect(passForm(failingProvider, createContext(OAUTH_PATHS.token), form)).rejects.toBe(thrownError)
})

test('the library adds no CORS headers of its own', async () => {
  const origin = 'https://app.example'
  const testProvider = createTestProvider()
  const withoutCors = createContext(OAUTH_PATHS.token, { origin })
  await fetchToken(testProvider, withoutCors)
  const headerNames = Object.keys(withoutCors.response.headers)
  expect(headerNames.filter((name) => /^access-control-|^vary/.test(name))).toEqual([])
  const withCors = createContext(OAUTH_PATHS.token, { origin })
  withCors.set({ 'access-control-allow-origin': origin, 'access-control-expose-headers': 'X-Ours' })
  await fetchToken(testProvider, withCors)
  expect(withCors.response.headers).toMatchObject({
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'X-Ours',
  })
})

test('the library reads the form that the route has read', async () => {
  const testProvider = createTestProvider()
  // These headers, and the client fields in the form below, contradict what the route has read. The library must not see them.
  const ctx = createContext(OAUTH_PATHS.token, {
    authorization: `Basic ${btoa('somebody:else')}`,
    'content-type': 'text/plain',
    'content-length': '5',
    'transfer-encoding': 'chunked',
  })
  const form = await createCodeForm(testProvider)
  const { body } = await passForm(testProvider, ctx, {
    ...form,
    client_id: 'somebody',
    client_assertion: 'else',
  })
  expect(body).toMatchObject({ scope: APP_SCOPE, token_type: 'Bearer' })
})

test('the library reads at most 56 KiB, and a longer form is an invalid request', async () => {
  const testProvider = createTestProvider()
  const passLongForm = async (bytes: number) => {
    const form = { ...(await createCodeForm(testProvider)), unknown: 'x'.repeat(bytes) }
    return passForm(testProvider, createContext(OAUTH_PATHS.token), form)
  }
  await expect(passLongForm(56 * 1024)).rejects.toMatchObject({ code: 'invalid-request' })
  expect((await passLongForm(55 * 1024)).body).toMatchObject({ token_type: 'Bearer' })
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

test.for([
  ['invalid_client', 'invalid-client'],
  ['invalid_grant', 'invalid-grant'],
  ['invalid_scope', 'invalid-scope'],
  ['invalid_target', 'invalid-target'],
  ['server_error', 'internal-error'],
  ['temporarily_unavailable', 'unavailable'],
  ['a code of a later release', 'invalid-request'],
])('converts the library error %s to the problem %s', ([error, code]) => {
  expect(catchFailure(400, { error }).code).toBe(code)
})

test('replaces error responses that are not OAuth errors', () => {
  // Neither body is an OAuth error, so the problem repeats nothing of it.
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
