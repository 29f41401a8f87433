import { AgentKey } from '@plainpath/domain'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { basicAuth, getToken, isActive, type RegisteredAgent, register } from './agent-client.ts'
import {
  type AppSystem,
  addApp,
  connectApp,
  expectRevoked,
  findConnectionIds,
  getCode,
  isActiveAtEachInstance,
  postForm,
  readTokens,
  redeemCode,
  refresh,
  startAppSystem,
} from './app-flow.ts'
import { expectNoConfidentialValues } from './expect-no-confidential-values.ts'
import { expectProblem, expectRefusal, INVALID_GRANT, type Refusal } from './expect-refusal.ts'
import { createAssertionFields, generateTestKeyPair, signAssertion } from './key-agent.ts'
import { TOKEN_STORES } from './open-auth-testbed.ts'
import type { HttpResponse } from './send.ts'
import { ORIGIN } from './start-auth.ts'

const invalidClient: Refusal = { status: 401, code: 'invalid-client', error: 'invalid_client' }

describe.for(TOKEN_STORES)('an app that a person connected, tokens in %s,', (tokenStore) => {
  let system: AppSystem
  beforeAll(async () => {
    system = await startAppSystem(tokenStore)
  })
  afterAll(async () => {
    await expectNoConfidentialValues(system.auth)
    await system[Symbol.asyncDispose]()
  })

  /** Gets a token while the instances have the present time, because Redis expires tokens by the machine's clock. */
  async function getTokenInPresent(agent: RegisteredAgent): Promise<string> {
    const { now } = system.clock
    system.clock.now = new Date()
    const token = await getToken(system.auth, agent)
    system.clock.now = now
    return token
  }

  describe('is refused', () => {
    test('tokens while its document lacks the redirect URI for which the code was issued', async () => {
      const client = addApp(system)
      const code = await getCode(system, client)
      system.apps.set(client.id, { ...client, redirectUris: ['https://host.example/new'] })
      await expectRefusal(system.auth, () => redeemCode(system.auth, client, code), INVALID_GRANT)
      system.apps.set(client.id, client)
      readTokens(system.auth, await redeemCode(system.auth, client, code))
    })

    test('tokens while the app is removed', async () => {
      const { app: client, refresh: token } = await connectApp(system)
      system.apps.delete(client.id)
      await expectRefusal(system.auth, () => refresh(system.auth, client, token), invalidClient)
      system.apps.set(client.id, client)
      readTokens(system.auth, await refresh(system.auth, client, token))
    })

    test('tokens without an assertion when its document now requires private_key_jwt', async () => {
      const client = addApp(system, { id: 'https://host.example/client.json', source: 'document' })
      const code = await getCode(system, client)
      const key = await generateTestKeyPair()
      const keys = [AgentKey.parse({ ...key.jwk, alg: key.alg, use: 'sig' })]
      system.apps.set(client.id, { ...client, authMethod: 'private_key_jwt', keys })
      const createAssertion = async (claims = {}, signingKey = key) => {
        // The instances are in the past (`startAppSystem`), so the assertion must be too.
        const iat = Math.floor(system.clock.now.getTime() / 1000)
        const signer = { client_id: client.id, key: signingKey }
        return createAssertionFields(
          await signAssertion(system.auth, signer, { iat, exp: iat + 60, ...claims }),
        )
      }
      await expectRefusal(system.auth, () => redeemCode(system.auth, client, code), invalidClient)
      const otherKeyAssertion = await createAssertion({}, await generateTestKeyPair())
      await expectRefusal(
        system.auth,
        () => redeemCode(system.auth, client, code, otherKeyAssertion),
        invalidClient,
      )
      const otherServerAssertion = await createAssertion({ aud: 'https://other.example' })
      await expectRefusal(
        system.auth,
        () => redeemCode(system.auth, client, code, otherServerAssertion),
        invalidClient,
      )
      const validAssertion = await createAssertion()
      const { refresh: token } = readTokens(
        system.auth,
        await redeemCode(system.auth, client, code, validAssertion),
      )
      // An assertion is accepted once.
      expectProblem(await refresh(system.auth, client, token, validAssertion), invalidClient)
      // An app may name the token endpoint as the audience, and not only the issuer.
      const tokenEndpointAssertion = await createAssertion({ aud: `${ORIGIN}/oauth/token` })
      readTokens(system.auth, await refresh(system.auth, client, token, tokenEndpointAssertion))
    })

    test('tokens when the id of its connection is sent with a client secret', async () => {
      const { access } = await connectApp(system)
      const { agentId } = await findConnectionIds(system, access)
      // A connection has no secret. The second value is the placeholder with which the authenticator compares instead.
      for (const secret of ['x', 'no client has this secret', agentId]) {
        const response = await postForm(system.auth, '/oauth/token', {
          grant_type: 'client_credentials',
          client_id: agentId,
          client_secret: secret,
        })
        expectProblem(response, invalidClient)
      }
    })

    test('tokens with the credentials of an agent', async () => {
      const client = addApp(system)
      const code = await getCode(system, client)
      const agent = await register(system.auth)
      const credentials = basicAuth(agent.client_id, agent.client_secret)
      const response = await fetch(new URL('/oauth/token', system.auth.url), {
        method: 'POST',
        headers: credentials,
        body: new URLSearchParams({
          grant_type: 'authorization_code',
          client_id: client.id,
          code: code.code,
        }),
      })
      expect(response.status).toBe(401)
      // The agent itself still gets tokens.
      expect(await isActive(system.auth, await getTokenInPresent(agent))).toBe(true)
    })
  })

  describe('can revoke', () => {
    const revokeToken = (client: { id: string }, token: string): Promise<HttpResponse> =>
      postForm(system.auth, '/oauth/revoke', { client_id: client.id, token })

    test('its access token alone', async () => {
      const connected = await connectApp(system)
      expect(await revokeToken(connected.app, connected.access)).toMatchObject({ status: 200, text: '{}' })
      await expectRevoked(system, connected)
      const nextTokens = readTokens(system.auth, await refresh(system.auth, connected.app, connected.refresh))
      expect(await isActiveAtEachInstance(system, nextTokens.access)).toEqual([true, true])
    })

    test('the connection, by revoking its refresh token', async () => {
      const connected = await connectApp(system)
      const { verificationId } = await findConnectionIds(system, connected.access)
      expect(await revokeToken(connected.app, connected.refresh)).toMatchObject({ status: 200, text: '{}' })
      await expectRevoked(system, connected)
      expect(await system.stores.verifications.find(verificationId)).toMatchObject({ endedBy: 'agent' })
      expect(await revokeToken(connected.app, connected.refresh)).toMatchObject({ status: 200 })
    })

    test('neither the tokens of another app nor those of an agent', async () => {
      const [connected, other] = [await connectApp(system), addApp(system)]
      const agentToken = await getTokenInPresent(await register(system.auth))
      for (const token of [connected.access, connected.refresh, agentToken])
        expectProblem(await revokeToken(other, token), { status: 400, code: 'foreign-token' })
      expect(await isActiveAtEachInstance(system, connected.access)).toEqual([true, true])
      expect(await isActiveAtEachInstance(system, agentToken)).toEqual([true, true])
      readTokens(system.auth, await refresh(system.auth, connected.app, connected.refresh))
    })

    test('an unknown token without an error, if the app itself is known', async () => {
      for (const token of [`ppt_${'A'.repeat(43)}`, `ppr_${'A'.repeat(43)}`, 'x'])
        expect(await revokeToken(addApp(system), token)).toMatchObject({ status: 200 })
      expectProblem(await revokeToken({ id: 'app_none' }, 'x'), invalidClient)
    })
  })
})
