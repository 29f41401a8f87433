import {
  ClientCredentialsProvider,
  auth as mcpAuth,
  PrivateKeyJwtProvider,
} from '@modelcontextprotocol/client'
// In this file, the suffix 1 marks names of version 1.x of the MCP SDK.
import { auth as mcpAuth1 } from '@modelcontextprotocol/sdk/client/auth.js'
import {
  ClientCredentialsProvider as ClientCredentialsProvider1,
  PrivateKeyJwtProvider as PrivateKeyJwtProvider1,
} from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import { type AgentDocuments, startAgentDocuments } from '@plainpath/auth/agent-documents'
import type { JWK } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { ClientCredentials } from 'simple-oauth2'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type System, startSystem } from './start-system.ts'

/*
 * OAuth client libraries that agents use, unmodified. Each gets a token, uses it and gets a second one, which it revokes if the library
 * can. Each authenticates with a secret and, if the library can, with a key that is registered or in a document.
 * `dpop-clients.test.ts` tests tokens that are bound to a key. `e2e/system/python-client.test.ts` tests `requests-oauthlib`, which
 * is not an npm package.
 */

const resources = new AsyncDisposableStack()
let documents: AgentDocuments
let system: System
beforeAll(async () => {
  documents = resources.use(await startAgentDocuments())
  system = resources.use(await startSystem({ documents }))
})
afterAll(() => resources.disposeAsync())

interface AgentWithSecret {
  readonly client_id: string
  readonly client_secret: string
}
interface AgentWithKey {
  readonly client_id: string
  readonly kid: string
  readonly key: oauth.CryptoKey
  readonly jwk: JWK
}

/** The operations of a library as one client. */
interface Session {
  /** Requests a token. Returns undefined if the library stored none. */
  getToken(): Promise<string | undefined>
  /** Absent where the library cannot revoke. */
  revoke?(token: string): Promise<void>
}
type Fetch = typeof globalThis.fetch

async function register(body: object = {}): Promise<AgentWithSecret> {
  const response = await fetch(`${system.origin}/api/agent/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(201)
  return (await response.json()) as AgentWithSecret
}

/** Registers a client that is changing its key: it has two, and signs with the second. */
async function registerWithKeys(): Promise<AgentWithKey> {
  const [old, current] = await Promise.all([generateKey(), generateKey()])
  const keys = [
    { ...old.publicJwk, kid: 'old' },
    { ...current.publicJwk, kid: 'current' },
  ]
  const { client_id } = await register({ jwks: { keys } })
  return { client_id, kid: 'current', key: current.privateKey, jwk: current.privateJwk }
}

/** Publishes the document of a client with one key, which does not register. */
async function publishDocumentWithKey(): Promise<AgentWithKey> {
  const { publicJwk, privateJwk, privateKey } = await generateKey()
  const { client_id } = documents.publish([{ jwk: { ...publicJwk, kid: 'current' } as JWK }])
  return { client_id, kid: 'current', key: privateKey, jwk: privateJwk }
}

async function generateKey() {
  const { privateKey, publicKey } = await oauth.generateKeyPair('ES256', { extractable: true })
  const [publicJwk, privateJwk] = await Promise.all(
    [publicKey, privateKey].map((key) => crypto.subtle.exportKey('jwk', key)),
  )
  return { privateKey, publicJwk: publicJwk!, privateJwk: privateJwk! }
}

const ALLOW_HTTP = { [oauth.allowInsecureRequests]: true } as const

async function openOauth4webapiSession(
  clientId: string,
  clientAuth: oauth.ClientAuth,
  send: Fetch,
): Promise<Session> {
  const issuer = new URL(system.origin)
  const options = { ...ALLOW_HTTP, [oauth.customFetch]: send as never }
  const discoveryResponse = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options })
  const server = await oauth.processDiscoveryResponse(issuer, discoveryResponse)
  const client = { client_id: clientId }
  return {
    async getToken() {
      const parameters = { resource: `${system.origin}/api` }
      const response = await oauth.clientCredentialsGrantRequest(
        server,
        client,
        clientAuth,
        parameters,
        options,
      )
      return (await oauth.processClientCredentialsResponse(server, client, response)).access_token
    },
    async revoke(token) {
      const response = await oauth.revocationRequest(server, client, clientAuth, token, options)
      await oauth.processRevocationResponse(response)
    },
  }
}

async function openOpenidSession(
  clientId: string,
  clientAuth: openid.ClientAuth,
  send: Fetch,
): Promise<Session> {
  const config = await openid.discovery(new URL(system.origin), clientId, undefined, clientAuth, {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
    [openid.customFetch]: send as never,
  })
  return {
    getToken: async () => (await openid.clientCredentialsGrant(config)).access_token,
    revoke: (token) => openid.tokenRevocation(config, token),
  }
}

function openSimpleOauth2Session(agent: AgentWithSecret, authorizationMethod: 'header' | 'body'): Session {
  const client = new ClientCredentials({
    client: { id: agent.client_id, secret: agent.client_secret },
    auth: { tokenHost: system.origin, tokenPath: '/oauth/token', revokePath: '/oauth/revoke' },
    options: { authorizationMethod },
  })
  return {
    getToken: async () => (await client.getToken({})).token['access_token'] as string,
    revoke: (token) => client.createToken({ access_token: token }).revoke('access_token'),
  }
}

function openMcpSession(
  provider: ClientCredentialsProvider | PrivateKeyJwtProvider,
  fetchFn: Fetch,
): Session {
  const serverUrl = `${system.origin}/api/mcp`
  return {
    async getToken() {
      expect(await mcpAuth(provider, { serverUrl, fetchFn })).toBe('AUTHORIZED')
      return provider.tokens()?.access_token
    },
  }
}

function openMcpSession1(
  provider: ClientCredentialsProvider1 | PrivateKeyJwtProvider1,
  fetchFn: Fetch,
): Session {
  const serverUrl = `${system.origin}/api/mcp`
  return {
    async getToken() {
      expect(await mcpAuth1(provider, { serverUrl, fetchFn })).toBe('AUTHORIZED')
      return provider.tokens()?.access_token
    },
  }
}

const toMcpSecretOptions = ({ client_id, client_secret }: AgentWithSecret) => ({
  clientId: client_id,
  clientSecret: client_secret,
  expectedIssuer: system.origin,
})
const toMcpKeyOptions = ({ client_id, jwk }: AgentWithKey) => ({
  clientId: client_id,
  privateKey: { ...jwk },
  algorithm: 'ES256',
  expectedIssuer: system.origin,
})

/**
 * Clients that authenticate with a secret. They send requests with the function `send`. simple-oauth2 is an exception: it cannot
 * replace its HTTP client, and it reads no metadata.
 */
const SECRET_CLIENTS: [string, (agent: AgentWithSecret, send: Fetch) => Session | Promise<Session>][] = [
  [
    'oauth4webapi, HTTP Basic',
    (agent, send) =>
      openOauth4webapiSession(agent.client_id, oauth.ClientSecretBasic(agent.client_secret), send),
  ],
  [
    'oauth4webapi, form fields',
    (agent, send) =>
      openOauth4webapiSession(agent.client_id, oauth.ClientSecretPost(agent.client_secret), send),
  ],
  [
    'openid-client, HTTP Basic',
    (agent, send) => openOpenidSession(agent.client_id, openid.ClientSecretBasic(agent.client_secret), send),
  ],
  [
    'openid-client, form fields',
    (agent, send) => openOpenidSession(agent.client_id, openid.ClientSecretPost(agent.client_secret), send),
  ],
  ['simple-oauth2, HTTP Basic', (agent) => openSimpleOauth2Session(agent, 'header')],
  ['simple-oauth2, form fields', (agent) => openSimpleOauth2Session(agent, 'body')],
  [
    '@modelcontextprotocol/client 2.x',
    (agent, send) => openMcpSession(new ClientCredentialsProvider(toMcpSecretOptions(agent)), send),
  ],
  [
    '@modelcontextprotocol/sdk 1.x',
    (agent, send) => openMcpSession1(new ClientCredentialsProvider1(toMcpSecretOptions(agent)), send),
  ],
]

/** Clients that sign with a key. simple-oauth2 is absent, because it supports only secrets. The MCP SDKs send no `kid`. */
const KEY_CLIENTS: [string, (agent: AgentWithKey, send: Fetch) => Session | Promise<Session>][] = [
  [
    'oauth4webapi, with kid',
    ({ client_id, ...key }, send) => openOauth4webapiSession(client_id, oauth.PrivateKeyJwt(key), send),
  ],
  [
    'oauth4webapi, without kid',
    ({ client_id, key }, send) => openOauth4webapiSession(client_id, oauth.PrivateKeyJwt(key), send),
  ],
  [
    'openid-client, with kid',
    ({ client_id, ...key }, send) => openOpenidSession(client_id, openid.PrivateKeyJwt(key), send),
  ],
  [
    'openid-client, without kid',
    ({ client_id, key }, send) => openOpenidSession(client_id, openid.PrivateKeyJwt(key), send),
  ],
  [
    '@modelcontextprotocol/client 2.x, without kid',
    (agent, send) => openMcpSession(new PrivateKeyJwtProvider(toMcpKeyOptions(agent)), send),
  ],
  [
    '@modelcontextprotocol/sdk 1.x, without kid',
    (agent, send) => openMcpSession1(new PrivateKeyJwtProvider1(toMcpKeyOptions(agent)), send),
  ],
]

const getGuidesStatus = async (token: string | undefined) =>
  (await fetch(`${system.origin}/api/guides`, { headers: { authorization: `Bearer ${token}` } })).status

/** Expects that a client can get, use and renew tokens and, if its library supports that, revoke one. */
async function expectJourney(session: Session): Promise<void> {
  const token = await session.getToken()
  expect(await getGuidesStatus(token)).toBe(200)
  const secondToken = await session.getToken()
  expect(secondToken).not.toBe(token)
  expect(await getGuidesStatus(secondToken)).toBe(200)
  if (!session.revoke) return
  await session.revoke(secondToken!)
  expect([await getGuidesStatus(secondToken), await getGuidesStatus(token)]).toEqual([401, 200])
  // A client may revoke a token again (RFC 7009, section 2.2).
  await session.revoke(secondToken!)
}

test.for(SECRET_CLIENTS)(
  '%s: an agent with a secret gets and renews a token, and revokes one if the library can',
  async ([_name, openSession]) => {
    await expectJourney(await openSession(await register(), fetch))
  },
)

test.for(KEY_CLIENTS)(
  '%s: an agent with two keys gets and renews a token, and revokes one if the library can',
  async ([_name, openSession]) => {
    await expectJourney(await openSession(await registerWithKeys(), fetch))
  },
)

test.for(KEY_CLIENTS)(
  '%s: an agent with a document gets and renews a token, and revokes one if the library can',
  async ([_name, openSession]) => {
    await expectJourney(await openSession(await publishDocumentWithKey(), fetch))
  },
)

// These agents do not use the endpoint, but the MCP SDKs reject metadata without it.
describe('without authorization_endpoint in the metadata', () => {
  /** Removes the endpoint from the metadata, and otherwise works like `fetch`. */
  const fetchWithoutEndpoint: Fetch = async (input, init) => {
    const response = await fetch(input, init)
    if (!new Request(input).url.includes('/.well-known/oauth-authorization-server')) return response
    const { authorization_endpoint, ...metadata } = (await response.json()) as Record<string, unknown>
    expect(authorization_endpoint).toBe(`${system.origin}/oauth/authorize`)
    return Response.json(metadata)
  }

  test.for(SECRET_CLIENTS.filter(([name]) => !name.startsWith('@modelcontextprotocol/')))(
    '%s gets, renews and revokes a token',
    async ([_name, openSession]) => {
      await expectJourney(await openSession(await register(), fetchWithoutEndpoint))
    },
  )

  test.for(SECRET_CLIENTS.filter(([name]) => name.startsWith('@modelcontextprotocol/')))(
    '%s gets no token',
    async ([_name, openSession]) => {
      const session = await openSession(await register(), fetchWithoutEndpoint)
      await expect(session.getToken()).rejects.toThrow(/authorization_endpoint/)
    },
  )
})
