import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createJsonContent, isActive, type RegisteredAgent, register } from './agent-client.ts'
import { send } from './send.ts'
import { type RunningAuth, startAuth } from './start-auth.ts'

// Tests auth with an independent client library, which checks the responses itself.

/** Lets the library use http, which it refuses by default. The test server has no https. */
const allowHttp = { [oauth.allowInsecureRequests]: true }

let auth: RunningAuth
let server: oauth.AuthorizationServer
let agent: RegisteredAgent
beforeAll(async () => {
  // The library fetches the metadata from the issuer, so the issuer must be the address on which the test server listens.
  auth = await startAuth({ origin: 'loopback' })
  const issuer = new URL(auth.origin)
  const discovery = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...allowHttp })
  server = await oauth.processDiscoveryResponse(issuer, discovery)
  agent = await register(auth)
})
afterAll(() => auth[Symbol.asyncDispose]())

async function requestGrant(authentication: oauth.ClientAuth, parameters: Record<string, string> = {}) {
  const client = { client_id: agent.client_id }
  const response = await oauth.clientCredentialsGrantRequest(
    server,
    client,
    authentication,
    parameters,
    allowHttp,
  )
  return oauth.processClientCredentialsResponse(server, client, response)
}

describe('the client library oauth4webapi', () => {
  test('finds the server by its issuer', () => {
    expect(server).toMatchObject({ issuer: auth.origin, token_endpoint: `${auth.origin}/oauth/token` })
    expect(agent['token_endpoint']).toBe(server.token_endpoint)
  })

  test.for([
    ['client_secret_basic', oauth.ClientSecretBasic],
    ['client_secret_post', oauth.ClientSecretPost],
  ] satisfies [string, (secret: string) => oauth.ClientAuth][])(
    'gets a token with %s and revokes it',
    async ([_name, createAuthentication]) => {
      const client = { client_id: agent.client_id }
      const token = await requestGrant(createAuthentication(agent.client_secret), {
        scope: 'guides:read',
        resource: `${auth.origin}/api`,
      })
      expect(token).toMatchObject({ token_type: 'bearer', scope: 'guides:read', expires_in: 3600 })
      expect(await isActive(auth, token.access_token)).toBe(true)
      const response = await oauth.revocationRequest(
        server,
        client,
        createAuthentication(agent.client_secret),
        token.access_token,
        allowHttp,
      )
      expect(await oauth.processRevocationResponse(response)).toBeUndefined()
      expect(await isActive(auth, token.access_token)).toBe(false)
    },
  )

  test.for(['ES256', 'Ed25519'])(
    'registers a key, gets tokens with private_key_jwt (%s) with and without kid, and revokes them',
    async (alg) => {
      const { privateKey, publicKey } = await oauth.generateKeyPair(alg, { extractable: true })
      const jwk = await crypto.subtle.exportKey('jwk', publicKey)
      const content = createJsonContent({ jwks: { keys: [jwk] } })
      const registration = await send(auth.url, { method: 'POST', path: '/api/agent/register', ...content })
      const client = JSON.parse(registration.text) as oauth.Client & {
        jwks: { keys: { kid: string }[] }
      }
      expect(client).toMatchObject({ token_endpoint_auth_method: 'private_key_jwt' })
      const kid = client.jwks.keys[0]?.kid ?? ''
      for (const key of [privateKey, { key: privateKey, kid }]) {
        const authentication = oauth.PrivateKeyJwt(key)
        const tokenResponse = await oauth.clientCredentialsGrantRequest(
          server,
          client,
          authentication,
          {},
          allowHttp,
        )
        const token = await oauth.processClientCredentialsResponse(server, client, tokenResponse)
        expect(await isActive(auth, token.access_token)).toBe(true)
        const response = await oauth.revocationRequest(
          server,
          client,
          authentication,
          token.access_token,
          allowHttp,
        )
        expect(await oauth.processRevocationResponse(response)).toBeUndefined()
        expect(await isActive(auth, token.access_token)).toBe(false)
      }
    },
  )

  test('throws an error that gives the reason for a refusal', async () => {
    await expect(requestGrant(oauth.ClientSecretBasic('wrong'))).rejects.toMatchObject({
      name: 'WWWAuthenticateChallengeError',
      status: 401,
      cause: [{ scheme: 'basic', parameters: { realm: 'plainpath', charset: 'UTF-8' } }],
    })
    await expect(
      requestGrant(oauth.ClientSecretBasic(agent.client_secret), { scope: 'contact:write' }),
    ).rejects.toMatchObject({
      name: 'ResponseBodyError',
      status: 400,
      error: 'invalid_scope',
      error_description: expect.stringContaining('verified-email.md'),
    })
    await expect(
      requestGrant(oauth.ClientSecretBasic(agent.client_secret), { resource: 'https://elsewhere.example' }),
    ).rejects.toMatchObject({ error: 'invalid_target' })
  })

  test('introspects as a resource server, and verifies the response', async () => {
    const internalServer = { ...server, introspection_endpoint: `${auth.internalUrl}/oauth/introspect` }
    const api = { client_id: 'rs_api', introspection_signed_response_alg: 'ES256' }
    const secret = oauth.ClientSecretBasic(auth.testbed.secrets.rs_api)
    const token = await requestGrant(oauth.ClientSecretBasic(agent.client_secret))
    const introspect = async (presentedToken: string) => {
      const response = await oauth.introspectionRequest(internalServer, api, secret, presentedToken, {
        ...allowHttp,
        requestJwtResponse: true,
      })
      const introspection = await oauth.processIntrospectionResponse(internalServer, api, response)
      await oauth.validateApplicationLevelSignature(internalServer, response, allowHttp)
      return introspection
    }
    expect(await introspect(token.access_token)).toMatchObject({ active: true, client_id: agent.client_id })
    expect(await introspect('unknown')).toEqual({ active: false })
  })
})
