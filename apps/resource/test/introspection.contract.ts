import { createMetrics } from '@plainpath/http'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { describe, expect, test } from 'vitest'
import { createAuthorizationServerClient } from '../src/auth/authorization-server-client.ts'
import { createAuthorizationServerKeys } from '../src/auth/authorization-server-keys.ts'
import { createIntrospectionClient, createIntrospectionMetrics } from '../src/auth/introspection-client.ts'

/** An authorization server under test, with the API's credential for its internal listener and with two issued tokens. */
export interface IntrospectionServer extends AsyncDisposable {
  /** The URL of the internal listener. */
  readonly url: string
  readonly issuer: string
  /** The OAuth resource identifier of this API. */
  readonly base: string
  /** Identifies this API, which is the client of the authorization server. */
  readonly clientId: string
  readonly clientSecret: string
  /** Issued to `agentId` with all anonymous scopes. */
  readonly activeToken: string
  readonly agentId: string
  readonly revokedToken: string
}

const INTROSPECTION_TYPE = 'application/token-introspection+jwt'
/** Has the format of a token, but was never issued. */
const UNKNOWN_TOKEN = `ppt_${'A'.repeat(43)}`

/** An authorization server that has also issued a token bound to a key (RFC 9449). */
export interface BoundIntrospectionServer extends IntrospectionServer {
  readonly boundToken: string
  /** The thumbprint of that key. */
  readonly jkt: string
}

/**
 * Defines the tests of the introspection that this API requires from an authorization server. The real server and the fake must
 * both pass them, so that the fake stays like the real one.
 *
 * @param kind names the server in the test titles
 * @param startServer starts a new server for each test
 */
export function describeIntrospection(kind: string, startServer: () => Promise<IntrospectionServer>) {
  describe(`introspection by ${kind}`, () => {
    test('introspects an active token', async () => {
      await using server = await startServer()
      const introspection = await createClient(server)(server.activeToken)
      expect(introspection).toMatchObject({
        active: true,
        clientId: server.agentId,
        identityType: 'anonymous',
      })
      if (!introspection.active) throw new Error('the token is not active')
      expect([...introspection.scopes].sort()).toEqual(['guides:read', 'waitlist:write'])
      expect(introspection.audience).toContain(server.base)
      expect(introspection).not.toHaveProperty('jkt')
      expect(introspection.expiresAt.getTime()).toBeGreaterThan(Date.now())
    })

    test('reports unknown and revoked tokens as inactive', async () => {
      await using server = await startServer()
      const introspect = createClient(server)
      expect(await introspect(UNKNOWN_TOKEN)).toEqual({ active: false })
      expect(await introspect(server.revokedToken)).toEqual({ active: false })
    })

    test('signs the response for the caller, with a published key', async () => {
      await using server = await startServer()
      const response = await requestIntrospection(server, {})
      expect(response.headers.get('content-type')).toMatch(
        new RegExp(`^${INTROSPECTION_TYPE.replace('+', '\\+')}`),
      )
      const jwt = await response.text()
      const { typ, alg, kid } = decodeProtectedHeader(jwt)
      expect({ typ, alg }).toEqual({
        typ: 'token-introspection+jwt',
        alg: expect.stringMatching(/^(ES256|EdDSA)$/),
      })
      expect(decodeJwt(jwt)).toMatchObject({ iss: server.issuer, aud: server.clientId })
      const keySet = await (await fetch(`${server.url}/oauth/jwks.json`)).json()
      const keys = (keySet as { keys: Record<string, unknown>[] }).keys
      expect(keys.map((key) => key['kid'])).toContain(kid)
      // `d` is the private part of a key.
      for (const key of keys) expect(key).not.toHaveProperty('d')
    })

    test('responds 401 to a wrong secret and to a request without credentials', async () => {
      await using server = await startServer()
      const wrongCredentials = formatBasicCredentials({ ...server, clientSecret: 'wrong' })
      expect((await requestIntrospection(server, { authorization: wrongCredentials })).status).toBe(401)
      expect((await requestIntrospection(server, { authorization: '' })).status).toBe(401)
    })

    test('responds 406 to a request for an unsigned response', async () => {
      await using server = await startServer()
      expect((await requestIntrospection(server, { accept: 'application/json' })).status).toBe(406)
    })
  })
}

/** Defines the tests that an authorization server must also pass if it issues tokens bound to a key. */
export function describeBoundIntrospection(
  kind: string,
  startServer: () => Promise<BoundIntrospectionServer>,
) {
  test(`introspection by ${kind} names a key for a bound token only`, async () => {
    await using server = await startServer()
    const introspect = createClient(server)
    expect(await introspect(server.boundToken)).toMatchObject({ active: true, jkt: server.jkt })
    expect(await introspect(server.activeToken)).not.toHaveProperty('jkt')
    const response = await requestIntrospection(server, {}, server.boundToken)
    expect(decodeJwt(await response.text())['token_introspection']).toMatchObject({
      token_type: 'DPoP',
      cnf: { jkt: server.jkt },
    })
  })
}

function createClient({ url, issuer, clientId, clientSecret }: IntrospectionServer) {
  const requestServer = createAuthorizationServerClient([url])
  return createIntrospectionClient({
    requestServer,
    issuer,
    clientId,
    clientSecret: { current: () => clientSecret, findAlternative: async () => undefined },
    keys: createAuthorizationServerKeys(requestServer),
    now: () => new Date(),
    metrics: createIntrospectionMetrics(createMetrics('resource')),
  })
}

function requestIntrospection(
  server: IntrospectionServer,
  headers: Record<string, string>,
  token = server.activeToken,
) {
  return fetch(`${server.url}/oauth/introspect`, {
    method: 'POST',
    headers: { accept: INTROSPECTION_TYPE, authorization: formatBasicCredentials(server), ...headers },
    body: new URLSearchParams({ token }),
  })
}

const formatBasicCredentials = ({ clientId, clientSecret }: IntrospectionServer) =>
  `Basic ${Buffer.from(`${clientId}:${encodeURIComponent(clientSecret)}`).toString('base64')}`
