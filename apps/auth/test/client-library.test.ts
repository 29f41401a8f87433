import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isActive, json, type Registered, register } from './agent-client.ts'
import { send } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

/** http is for loopback only, which this is. */
const insecure = { [oauth.allowInsecureRequests]: true }

let auth: RunningAuth
let server: oauth.AuthorizationServer
let agent: Registered
beforeAll(async () => {
  auth = await startAuth({ origin: 'loopback' })
  const issuer = new URL(auth.origin)
  const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
  server = await oauth.processDiscoveryResponse(issuer, found)
  agent = await register(auth)
})
afterAll(() => auth[Symbol.asyncDispose]())

async function grant(how: oauth.ClientAuth, parameters: Record<string, string> = {}) {
  const client = { client_id: agent.client_id }
  const response = await oauth.clientCredentialsGrantRequest(server, client, how, parameters, insecure)
  return oauth.processClientCredentialsResponse(server, client, response)
}

describe('a client library that knows nothing of us', () => {
  test('finds the server by its issuer', () => {
    expect(server).toMatchObject({ issuer: auth.origin, token_endpoint: `${auth.origin}/oauth/token` })
    expect(agent['token_endpoint']).toBe(server.token_endpoint)
  })

  test.for([
    ['client_secret_basic', oauth.ClientSecretBasic],
    ['client_secret_post', oauth.ClientSecretPost],
  ] satisfies [string, (secret: string) => oauth.ClientAuth][])(
    'gets a token with %s and ends it',
    async ([_name, how]) => {
      const client = { client_id: agent.client_id }
      const token = await grant(how(agent.client_secret), {
        scope: 'guides:read',
        resource: `${auth.origin}/api`,
      })
      expect(token).toMatchObject({ token_type: 'bearer', scope: 'guides:read', expires_in: 3600 })
      expect(await isActive(auth, token.access_token)).toBe(true)
      const response = await oauth.revocationRequest(
        server,
        client,
        how(agent.client_secret),
        token.access_token,
        insecure,
      )
      expect(await oauth.processRevocationResponse(response)).toBeUndefined()
      expect(await isActive(auth, token.access_token)).toBe(false)
    },
  )

  test.for(['ES256', 'Ed25519'])(
    'registers a key, gets a token with private_key_jwt (%s) and ends it',
    async (alg) => {
      const { privateKey, publicKey } = await oauth.generateKeyPair(alg, { extractable: true })
      const jwk = await crypto.subtle.exportKey('jwk', publicKey)
      const body = json({ jwks: { keys: [jwk] } })
      const registered = await send(auth.url, { method: 'POST', path: '/api/agent/register', ...body })
      const client = (await JSON.parse(registered.text)) as oauth.Client & {
        jwks: { keys: { kid: string }[] }
      }
      expect(client).toMatchObject({ token_endpoint_auth_method: 'private_key_jwt' })
      const kid = client.jwks.keys[0]?.kid ?? ''
      for (const key of [privateKey, { key: privateKey, kid }]) {
        const how = oauth.PrivateKeyJwt(key)
        const granted = await oauth.clientCredentialsGrantRequest(server, client, how, {}, insecure)
        const token = await oauth.processClientCredentialsResponse(server, client, granted)
        expect(await isActive(auth, token.access_token)).toBe(true)
        const response = await oauth.revocationRequest(server, client, how, token.access_token, insecure)
        expect(await oauth.processRevocationResponse(response)).toBeUndefined()
        expect(await isActive(auth, token.access_token)).toBe(false)
      }
    },
  )

  test('reads from the error why it gets no token', async () => {
    await expect(grant(oauth.ClientSecretBasic('wrong'))).rejects.toMatchObject({
      name: 'WWWAuthenticateChallengeError',
      status: 401,
      cause: [{ scheme: 'basic', parameters: { realm: 'plainpath', charset: 'UTF-8' } }],
    })
    await expect(
      grant(oauth.ClientSecretBasic(agent.client_secret), { scope: 'contact:write' }),
    ).rejects.toMatchObject({
      name: 'ResponseBodyError',
      status: 400,
      error: 'invalid_scope',
      error_description: expect.stringContaining('verified-email.md'),
    })
    await expect(
      grant(oauth.ClientSecretBasic(agent.client_secret), { resource: 'https://elsewhere.example' }),
    ).rejects.toMatchObject({ error: 'invalid_target' })
  })

  test('introspects as a resource server, and verifies the response', async () => {
    const inside = { ...server, introspection_endpoint: `${auth.internalUrl}/oauth/introspect` }
    const api = { client_id: 'rs_api', introspection_signed_response_alg: 'ES256' }
    const secret = oauth.ClientSecretBasic(auth.stores.secrets.rs_api)
    const token = await grant(oauth.ClientSecretBasic(agent.client_secret))
    const introspect = async (presented: string) => {
      const response = await oauth.introspectionRequest(inside, api, secret, presented, {
        ...insecure,
        requestJwtResponse: true,
      })
      const introspection = await oauth.processIntrospectionResponse(inside, api, response)
      await oauth.validateApplicationLevelSignature(inside, response, insecure)
      return introspection
    }
    expect(await introspect(token.access_token)).toMatchObject({ active: true, client_id: agent.client_id })
    expect(await introspect('unknown')).toEqual({ active: false })
  })
})
