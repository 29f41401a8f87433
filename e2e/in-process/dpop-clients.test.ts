import { type AgentDocuments, createDocument, startAgentDocuments } from '@plainpath/auth/agent-documents'
import type { JWK } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type System, startSystem } from './start-system.ts'

/*
 * OAuth client libraries that implement DPoP (RFC 9449), unmodified. Each gets a token that is bound to its key, first without
 * knowing a nonce. It reads a guide with the token, gets another token, and revokes both.
 */

const resources = new AsyncDisposableStack()
let documents: AgentDocuments
let system: System
beforeAll(async () => {
  documents = resources.use(await startAgentDocuments())
  system = resources.use(await startSystem({ documents }))
})
afterAll(() => resources.disposeAsync())

/** `EdDSA` and `Ed25519` name the same algorithm. RFC 9864 deprecates `EdDSA`, but libraries still support it. */
const ALGORITHMS = ['ES256', 'Ed25519', 'EdDSA'] as const
type Algorithm = (typeof ALGORITHMS)[number]

interface RegisteredClient {
  readonly clientId: string
  /** A secret, or a private key with the id under which the server knows its public key. */
  readonly credential: string | { readonly key: oauth.CryptoKey; readonly kid: string }
}

async function register(body: object): Promise<{ client_id: string; client_secret: string }> {
  const response = await fetch(`${system.origin}/api/agent/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(201)
  return (await response.json()) as { client_id: string; client_secret: string }
}

/** Functions that create a client with the given metadata, by the kind of its credential. */
const CLIENT_FACTORIES: Readonly<Record<string, (metadata: object) => Promise<RegisteredClient>>> = {
  'a secret': async (metadata) => {
    const { client_id, client_secret } = await register(metadata)
    return { clientId: client_id, credential: client_secret }
  },
  'a key': async (metadata) => {
    const { privateKey, publicKey } = await oauth.generateKeyPair('ES256')
    const jwk = await crypto.subtle.exportKey('jwk', publicKey)
    const { client_id } = await register({ ...metadata, jwks: { keys: [{ ...jwk, kid: 'one' }] } })
    return { clientId: client_id, credential: { key: privateKey, kid: 'one' } }
  },
  'a document': async (metadata) => {
    const { privateKey, publicKey } = await oauth.generateKeyPair('ES256')
    const key = { jwk: { ...(await crypto.subtle.exportKey('jwk', publicKey)), kid: 'one' } as JWK }
    const { client_id, setDocument } = documents.publish([key])
    setDocument({ ...createDocument(client_id, [key]), ...metadata })
    return { clientId: client_id, credential: { key: privateKey, kid: 'one' } }
  },
}

/** The operations of a library as one client. */
interface Session {
  /** Requests a token that is bound to the key of this session. Repeats the request once for a nonce error. */
  getToken(): Promise<{ access_token: string; token_type: string }>
  /** Reads a guide with a token that is bound to the key of this session. @returns the status */
  readGuide(token: string): Promise<number>
  revoke(token: string): Promise<void>
}

/** The number of times that the token endpoint required a nonce, which it does with status 400. */
let nonceErrorCount = 0
const countingFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init)
  if (response.status === 400 && response.headers.has('dpop-nonce')) nonceErrorCount += 1
  return response
}

const getGuideUrl = () => new URL('/api/guides/work-permit', system.origin)

/** Returns the status of a response. The libraries throw an error for a response with a challenge. */
async function readStatus(request: () => Promise<Response>): Promise<number> {
  try {
    return (await request()).status
  } catch (error) {
    if (!(error instanceof oauth.WWWAuthenticateChallengeError)) throw error
    expect(error.cause).toMatchObject([{ scheme: 'dpop', parameters: { error: 'invalid_token' } }])
    return error.status
  }
}

async function openOauth4webapiSession(
  { clientId, credential }: RegisteredClient,
  alg: Algorithm,
): Promise<Session> {
  const authentication =
    typeof credential === 'string' ? oauth.ClientSecretBasic(credential) : oauth.PrivateKeyJwt(credential)
  const issuer = new URL(system.origin)
  const client: oauth.Client = { client_id: clientId }
  const DPoP = oauth.DPoP(client, await oauth.generateKeyPair(alg))
  const options = { [oauth.allowInsecureRequests]: true, [oauth.customFetch]: countingFetch as never }
  const discoveryResponse = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options })
  const server = await oauth.processDiscoveryResponse(issuer, discoveryResponse)
  expect(server.dpop_signing_alg_values_supported).toContain(alg)
  const request = async () =>
    oauth.processClientCredentialsResponse(
      server,
      client,
      await oauth.clientCredentialsGrantRequest(server, client, authentication, {}, { DPoP, ...options }),
    )
  return {
    /** Repeats the request once for a nonce error, as the documentation of the library shows. */
    async getToken() {
      try {
        return await request()
      } catch (error) {
        if (!oauth.isDPoPNonceError(error)) throw error
        return await request()
      }
    },
    readGuide: (token) =>
      readStatus(() =>
        oauth.protectedResourceRequest(token, 'GET', getGuideUrl(), undefined, undefined, {
          DPoP,
          ...options,
        }),
      ),
    async revoke(token) {
      await oauth.processRevocationResponse(
        await oauth.revocationRequest(server, client, authentication, token, options),
      )
    },
  }
}

async function openOpenidSession(
  { clientId, credential }: RegisteredClient,
  alg: Algorithm,
): Promise<Session> {
  const authentication =
    typeof credential === 'string' ? openid.ClientSecretBasic(credential) : openid.PrivateKeyJwt(credential)
  const config = await openid.discovery(new URL(system.origin), clientId, undefined, authentication, {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
    [openid.customFetch]: countingFetch as never,
  })
  const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair(alg))
  return {
    getToken: () => openid.clientCredentialsGrant(config, {}, { DPoP }),
    readGuide: (token) =>
      readStatus(() =>
        openid.fetchProtectedResource(config, token, getGuideUrl(), 'GET', undefined, undefined, { DPoP }),
      ),
    revoke: (token) => openid.tokenRevocation(config, token),
  }
}

const LIBRARIES = { oauth4webapi: openOauth4webapiSession, 'openid-client': openOpenidSession }

const CASES = Object.entries(LIBRARIES).flatMap(([library, openSession]) =>
  Object.entries(CLIENT_FACTORIES).flatMap(([credentialKind, createClient]) =>
    ALGORITHMS.map((alg) => ({ library, credentialKind, alg, openSession, createClient })),
  ),
)

test.for(CASES)(
  '$library: an agent with $credentialKind gets, uses, renews and revokes tokens bound to a key of $alg',
  async ({ alg, openSession, createClient }) => {
    const session = await openSession(await createClient({ dpop_bound_access_tokens: true }), alg)
    nonceErrorCount = 0
    const tokens = [await session.getToken(), await session.getToken()]
    // The library reuses the nonce that it received.
    expect(nonceErrorCount).toBe(1)
    expect(tokens.map(({ token_type }) => token_type)).toEqual(['dpop', 'dpop'])
    const [firstToken = '', secondToken = ''] = tokens.map(({ access_token }) => access_token)
    expect(secondToken).not.toBe(firstToken)
    expect([await session.readGuide(firstToken), await session.readGuide(secondToken)]).toEqual([200, 200])
    expect(await readAsBearer(firstToken)).toBe(401)
    await session.revoke(firstToken)
    expect([await session.readGuide(firstToken), await session.readGuide(secondToken)]).toEqual([401, 200])
    await session.revoke(secondToken)
    expect(await session.readGuide(secondToken)).toBe(401)
  },
)

const readAsBearer = async (token: string) =>
  (await fetch(getGuideUrl(), { headers: { authorization: `Bearer ${token}` } })).status
